#include "engine/record/value_text.h"

#include <fmt/format.h>

#include <bit>

#include "engine/base/calendar.h"
#include "engine/base/excerpt.h"
#include "engine/base/units.h"
#include "engine/record/decimal_text.h"
#include "engine/record/float_text.h"
#include "engine/record/key.h"

namespace flowrun::record {

namespace {

constexpr size_t usual_length = 80, whole_length = 64 * KiB;  // of texts

// In quotes; how long it is, where it is cut.
std::string excerpt(std::string_view text, size_t longest) {
  return quoted_excerpt(text, longest) + (text.size() > longest ? fmt::format(" ({} bytes)", text.size()) : "");
}

std::string text_of(const value_type& type, const std::byte* field, const std::byte* heap, size_t longest) {
  if (type.is_string()) return excerpt(load_string(field, heap), longest);
  if (type.is_bytes()) return excerpt({reinterpret_cast<const char*>(field), type.num_bytes}, longest);
  const uint64_t bits = load_unsigned(field, type.num_bytes);
  if (type.is_boolean()) return bits != 0 ? "true" : "false";
  if (type.kind == type_kind::f32) return float_text(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  if (type.kind == type_kind::f64) return float_text(std::bit_cast<double>(bits));
  if (type.is_unsigned()) return fmt::format("{}", bits);
  const unsigned shift = 64 - 8 * type.num_bytes;
  const int64_t number = static_cast<int64_t>(bits << shift) >> shift;
  if (type.is_decimal()) return decimal_text(number, type.scale);
  if (!type.is_time()) return fmt::format("{}", number);
  char time[calendar::max_timestamp_chars];
  return {time, type.is_date() ? calendar::write_date(number, time) : calendar::write_timestamp(number, time)};
}

}  // namespace

std::string value_text(const value_type& type, const std::byte* field, const std::byte* heap) {
  return text_of(type, field, heap, usual_length);
}

std::string whole_value_text(const value_type& type, const std::byte* field, const std::byte* heap) {
  return text_of(type, field, heap, whole_length);
}

std::string row_text(const row_type& type, const std::byte* row, const std::byte* heap) {
  return row_text(type.columns(), row, heap);
}

std::string row_text(const std::vector<column>& columns, const std::byte* row, const std::byte* heap) {
  std::string out = "{";
  for (const column& c : columns) {
    if (out.size() > 1) out += ", ";
    out += c.name + ": " + value_text(c.type, row + c.offset, heap);
  }
  return out + "}";
}

}  // namespace flowrun::record
