#include "operators/parts/text/value_text.h"

#include <fmt/format.h>

#include <bit>

#include "engine/base/calendar.h"
#include "engine/record/decimal_text.h"
#include "engine/record/float_text.h"
#include "engine/record/key.h"

namespace flowrun::operators {

namespace {

std::string quoted(std::string_view text) {
  constexpr size_t longest = 80;
  std::string out = "\"";
  for (char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  out += '"';
  if (text.size() > longest) out += fmt::format("… ({} bytes)", text.size());
  return out;
}

}  // namespace

std::string value_text(const record::value_type& type, const std::byte* field, const std::byte* heap) {
  if (type.is_string()) return quoted(record::load_string(field, heap));
  if (type.is_bytes()) return quoted({reinterpret_cast<const char*>(field), type.num_bytes});
  const uint64_t bits = record::load_unsigned(field, type.num_bytes);
  if (type.is_boolean()) return bits != 0 ? "true" : "false";
  if (type.kind == record::type_kind::f32) return record::float_text(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  if (type.kind == record::type_kind::f64) return record::float_text(std::bit_cast<double>(bits));
  if (type.is_unsigned()) return fmt::format("{}", bits);
  const unsigned shift = 64 - 8 * type.num_bytes;
  const int64_t number = static_cast<int64_t>(bits << shift) >> shift;
  if (type.is_decimal()) return record::decimal_text(number, type.scale);
  if (!type.is_time()) return fmt::format("{}", number);
  char time[calendar::max_timestamp_chars];
  return {time, type.is_date() ? calendar::write_date(number, time) : calendar::write_timestamp(number, time)};
}

std::string row_text(const record::row_type& type, const std::byte* row, const std::byte* heap) {
  return row_text(type.columns(), row, heap);
}

std::string row_text(const std::vector<record::column>& columns, const std::byte* row, const std::byte* heap) {
  std::string out = "{";
  for (const record::column& c : columns) {
    if (out.size() > 1) out += ", ";
    out += c.name + ": " + value_text(c.type, row + c.offset, heap);
  }
  return out + "}";
}

}  // namespace flowrun::operators
