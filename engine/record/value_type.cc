#include "engine/record/value_type.h"

#include <array>
#include <charconv>

#include "engine/base/error.h"

namespace flowrun::record {

namespace {

struct named_kind {
  std::string_view name;
  type_kind kind;
  uint32_t num_bytes;
};

constexpr std::array<named_kind, 17> named_kinds = {{
    {"bool", type_kind::boolean, 1},
    {"u8", type_kind::u8, 1},
    {"u16", type_kind::u16, 2},
    {"u24", type_kind::u24, 3},
    {"u32", type_kind::u32, 4},
    {"u40", type_kind::u40, 5},
    {"u48", type_kind::u48, 6},
    {"u64", type_kind::u64, 8},
    {"i8", type_kind::i8, 1},
    {"i16", type_kind::i16, 2},
    {"i32", type_kind::i32, 4},
    {"i64", type_kind::i64, 8},
    {"f32", type_kind::f32, 4},
    {"f64", type_kind::f64, 8},
    {"string", type_kind::string, sizeof(string_ref)},
    {"date", type_kind::date, 4},
    {"timestamp", type_kind::timestamp, 8},
}};

// 16 in "bytes[16]" for the prefix "bytes[".
std::optional<uint32_t> number_within(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix) || !text.ends_with("]")) return std::nullopt;
  const std::string_view digits = text.substr(prefix.size(), text.size() - prefix.size() - 1);
  uint32_t number = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (status != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

}  // namespace

value_type value_type::of(type_kind kind) {
  for (const named_kind& named : named_kinds)
    if (named.kind == kind) return {kind, named.num_bytes};
  internal_error("bytes[N] needs its length, and decimal[S] its scale");
}

value_type value_type::fixed_bytes(uint32_t num_bytes) { return {type_kind::bytes, num_bytes}; }
value_type value_type::decimal(uint32_t scale) { return {type_kind::decimal, 8, static_cast<uint8_t>(scale)}; }

std::optional<value_type> parse_value_type(std::string_view text) {
  for (const named_kind& named : named_kinds)
    if (named.name == text) return value_type{named.kind, named.num_bytes};
  if (const auto length = number_within(text, "bytes["); length && *length >= 1 && *length <= max_fixed_bytes)
    return value_type::fixed_bytes(*length);
  if (const auto scale = number_within(text, "decimal["); scale && *scale <= max_decimal_scale)
    return value_type::decimal(*scale);
  return std::nullopt;
}

std::string to_string(value_type type) {
  if (type.is_bytes()) return "bytes[" + std::to_string(type.num_bytes) + "]";
  if (type.is_decimal()) return "decimal[" + std::to_string(type.scale) + "]";
  for (const named_kind& named : named_kinds)
    if (named.kind == type.kind) return std::string(named.name);
  return "?";
}

std::string_view value_type_names() {
  return "bool u8 u16 u24 u32 u40 u48 u64 i8 i16 i32 i64 f32 f64 bytes[N] string date timestamp decimal[S]";
}

}  // namespace flowrun::record
