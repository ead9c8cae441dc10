// Numbers as text, read and written. An input is a text; its last bytes are also the bits of a value.
//
// What holds: a field is a value of a type exactly where the standard library reads all of it as a number in range, and
// then it is that number; what is written reads as the same value, here and there; and sizes such as 64MiB are what a
// plain computation makes of them.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "engine/expr/expression.h"
#include "engine/record/float_text.h"
#include "operators/parts/text/csv_value.h"
#include "specs/value.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/target.h"

namespace flowrun::fuzz {

namespace {

using record::type_kind;
using record::value_type;

template <class Number>
std::optional<Number> read_all(std::string_view text) {
  Number value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The field's bits by the standard library: a plus is allowed in front of a number, and nothing that is not in range.
std::optional<uint64_t> bits_of(value_type type, std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-') || text.starts_with('+')) return std::nullopt;
  }
  const unsigned unused = 64 - 8 * type.num_bytes;
  if (type.is_unsigned()) {
    if (text.starts_with('-')) return std::nullopt;
    const auto value = read_all<uint64_t>(text);
    return value && *value <= ~uint64_t{0} >> unused ? value : std::nullopt;
  }
  if (type.is_signed()) {
    const auto value = read_all<int64_t>(text);
    if (!value || *value > INT64_MAX >> unused || *value < INT64_MIN >> unused) return std::nullopt;
    return static_cast<uint64_t>(*value) << unused >> unused;
  }
  if (type.kind == type_kind::f32) {
    const auto value = read_all<float>(text);
    return value ? std::optional<uint64_t>(std::bit_cast<uint32_t>(*value)) : std::nullopt;
  }
  const auto value = read_all<double>(text);
  return value ? std::optional(std::bit_cast<uint64_t>(*value)) : std::nullopt;
}

bool is_nan(value_type type, uint64_t bits) {
  if (type.kind == type_kind::f32) return std::isnan(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  return type.kind == type_kind::f64 && std::isnan(std::bit_cast<double>(bits));
}

std::optional<uint64_t> parsed(value_type type, std::string_view text) {
  std::byte field[8] = {};
  if (!operators::parse_value(type, text, field)) {
    must_hold(!operators::refusal(type, text).empty(), "'{}' is refused without a reason", text);
    return std::nullopt;
  }
  uint64_t bits = 0;
  std::memcpy(&bits, field, type.num_bytes);
  return bits;
}

// The two libraries may differ in numbers so small or so large that they are no values of the type: one refuses them,
// the other rounds them to 0 or infinity.
bool is_beyond(value_type type, std::string_view text) {
  if (!type.is_float()) return false;
  const double wide = std::strtod(std::string(text).c_str(), nullptr);
  const double least = type.kind == type_kind::f32 ? 1.2e-38 : 2.3e-308;
  return std::isinf(wide) || std::fabs(wide) < least || (type.kind == type_kind::f32 && std::fabs(wide) > 3.4e38);
}

void look_at_text(value_type type, std::string_view text) {
  const auto here = parsed(type, text);
  const auto there = bits_of(type, text);
  const std::string name = record::to_string(type);
  if (here && there && is_nan(type, *here) && is_nan(type, *there)) return;
  must_hold(here == there || is_beyond(type, text), "'{}' as {}: {:x} and {:x} by the standard library", text, name,
            here.value_or(0), there.value_or(0));
}

void look_at_bits(value_type type, uint64_t bits) {
  bits &= ~uint64_t{0} >> (64 - 8 * type.num_bytes);
  char text[operators::max_value_chars];
  const std::string_view written(text, operators::format_value(type, reinterpret_cast<const std::byte*>(&bits), text));
  const auto here = parsed(type, written), there = bits_of(type, written);
  const std::string name = record::to_string(type);
  if (is_nan(type, bits)) {
    must_hold(written == "nan" && here && is_nan(type, *here), "a NaN is written as {}", written);
  } else {
    must_hold(here == bits && there == bits, "{} {:x} is written as {}, which is {:x} and {:x}", name, bits, written,
              here.value_or(0), there.value_or(0));
  }
}

// The expression language has to_u64, to_i64 and to_f64 of constants, which are computed while it is compiled.
void look_at_expression(const char* function, value_type type, std::string_view text) {
  std::string literal;
  for (const char c : text) literal += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  const expr::compiled c = expr::compile(fmt::format("{}('{}')", function, literal), {});
  must_hold(c.value.has_value() && c.value->constant_bits().has_value(), "{}('{}') is no constant", function, literal);
  const uint64_t bits = *c.value->constant_bits();
  const auto read = parsed(type, text);
  if (is_nan(type, bits) && read && is_nan(type, *read)) return;
  must_hold(bits == read.value_or(0), "{}('{}') is {:x}, and {:x} in a field", function, text, bits, read.value_or(0));
}

// What a job's texts are taken for.
void look_at_settings(std::string_view text) {
  if (const auto value = specs::to_uint(text); value && !text.starts_with("0x") && !text.starts_with("0o"))
    must_hold(value == read_all<uint64_t>(text.substr(text.starts_with('+'))), "'{}' is {}", text, *value);
  if (const auto value = specs::to_int(text); value && text.find('x') == text.npos && text.find('o') == text.npos)
    must_hold(value == read_all<int64_t>(text.substr(text.starts_with('+'))), "'{}' is {}", text, *value);
  if (const auto value = specs::to_double(text)) must_hold(std::isfinite(*value), "'{}' is not finite", text);
}

void look_at_sizes(std::string_view text, uint64_t bits) {
  if (const auto bytes = parse_bytes(text)) must_hold(!format_bytes(*bytes).empty(), "{} bytes are nothing", *bytes);
  if (const auto plain = read_all<uint64_t>(text); plain && !text.starts_with('-'))
    must_hold(parse_bytes(text) == plain, "'{}' is not so many bytes", text);
  must_hold(parse_bytes(std::to_string(bits)) == bits, "{} is not so many bytes", bits);
  const uint64_t kib = bits >> 10U;
  must_hold(parse_bytes(std::to_string(kib) + "KiB") == kib << 10U, "{} KiB are not so many bytes", kib);
  std::string count = format_count(bits);
  std::erase(count, ',');
  must_hold(count == std::to_string(bits), "{} is counted as {}", bits, count);
}

}  // namespace

void try_input(std::string_view bytes) {
  input in(bytes);
  const std::string_view text = bytes.substr(0, 400);
  const uint64_t bits = in.number();
  for (const char* name : {"u8", "u16", "u24", "u32", "u40", "u48", "u64", "i8", "i16", "i32", "i64", "f32", "f64"}) {
    const value_type type = *record::parse_value_type(name);
    look_at_text(type, text);
    look_at_bits(type, bits);
  }
  look_at_expression("to_u64", value_type::of(type_kind::u64), text);
  look_at_expression("to_i64", value_type::of(type_kind::i64), text);
  look_at_expression("to_f64", value_type::of(type_kind::f64), text);
  look_at_settings(text);
  look_at_sizes(text, bits);
}

}  // namespace flowrun::fuzz
