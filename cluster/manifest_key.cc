#include "cluster/manifest_key.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/record/value_text.h"
#include "operators/parts/text/json_text.h"

namespace flowrun::cluster {

namespace {

constexpr size_t longest_text = 200;

nlohmann::json json_of(std::string_view text) {
  if (text.size() <= longest_text && operators::is_utf8(text)) return std::string(text);
  std::string digits;
  for (const char c : text.substr(0, longest_text)) digits += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return {{"hex", digits}, {"bytes", text.size()}};
}

nlohmann::json value_of(record::value_type type, const std::byte* field, const std::byte* heap,
                        const record::key_part& part) {
  if (part.length > 0) {
    type.num_bytes = part.length;
    field += part.from;
  }
  if (type.is_string()) return json_of(record::load_string(field, heap));
  if (type.is_bytes()) return json_of({reinterpret_cast<const char*>(field), type.num_bytes});
  const std::string text = record::value_text(type, field, heap);
  // Decimals have more digits than readers of JSON keep, and neither a time nor nan is a number there.
  if (type.is_decimal()) return text;
  const nlohmann::json number = nlohmann::json::parse(text, nullptr, false);
  return number.is_number() || number.is_boolean() ? number : nlohmann::json(text);
}

}  // namespace

std::string key_as_json(const record::row_type& type, const record::key& key, const std::byte* row,
                        const std::byte* heap) {
  auto out = nlohmann::json::array();
  for (const record::key_part& part : key) {
    const record::column& c = type.columns()[part.column];
    out.push_back(value_of(c.type, row + c.offset, heap, part));
  }
  return out.dump();
}

}  // namespace flowrun::cluster
