#include "operators/parts/text/csv_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <system_error>

#include "engine/base/calendar.h"
#include "engine/base/excerpt.h"
#include "engine/record/decimal_text.h"
#include "engine/record/float_reading.h"
#include "engine/record/float_text.h"

namespace flowrun::operators {

namespace {

using record::type_kind;
using record::value_type;

// Digits only, at least one; false past 64 bits.
bool parse_digits(const char* p, const char* end, uint64_t& value) {
  if (p == end) return false;
  uint64_t sum = 0;
  const bool short_enough = end - p <= 19;  // 10^19 - 1 < 2^64
  for (; p != end; ++p) {
    const auto digit = static_cast<uint64_t>(static_cast<unsigned char>(*p)) - '0';
    if (digit > 9) return false;
    if (short_enough) {
      sum = sum * 10 + digit;
    } else if (__builtin_mul_overflow(sum, uint64_t{10}, &sum) || __builtin_add_overflow(sum, digit, &sum)) {
      return false;
    }
  }
  value = sum;
  return true;
}

uint64_t largest_unsigned(uint32_t num_bytes) {
  return num_bytes >= 8 ? UINT64_MAX : (uint64_t{1} << (8 * num_bytes)) - 1;
}

// Without the plus sign that a number may have.
std::string_view without_plus(std::string_view field) {
  const bool signed_twice = field.size() > 1 && (field[1] == '-' || field[1] == '+');
  if (field.starts_with('+') && !signed_twice) field.remove_prefix(1);
  return field;
}

template <class Float>
bool parse_float(std::string_view field, std::byte* to) {
  Float value = 0;
  if (!record::read_float(field, value)) return false;
  std::memcpy(to, &value, sizeof value);
  return true;
}

template <class Float>
char* format_float(const std::byte* from, char* to) {
  Float value;
  std::memcpy(&value, from, sizeof value);
  return record::write_float(value, to);
}

}  // namespace

int64_t load_signed(const std::byte* from, uint32_t num_bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, num_bytes);
  const uint32_t unused = 64 - 8 * num_bytes;
  return static_cast<int64_t>(bits << unused) >> unused;
}

bool parse_value(value_type type, std::string_view field, std::byte* to) {
  if (type.is_number()) field = without_plus(field);
  const char* const p = field.data();
  const char* const end = p + field.size();
  if (type.is_unsigned()) {
    uint64_t value = 0;
    if (!parse_digits(p, end, value) || value > largest_unsigned(type.num_bytes)) return false;
    std::memcpy(to, &value, type.num_bytes);
    return true;
  }
  if (type.is_signed()) {
    const bool negative = p != end && *p == '-';
    uint64_t magnitude = 0;
    if (!parse_digits(p + negative, end, magnitude)) return false;
    const uint64_t limit = (uint64_t{1} << (8 * type.num_bytes - 1)) - (negative ? 0 : 1);
    if (magnitude > limit) return false;
    const uint64_t bits = negative ? 0 - magnitude : magnitude;
    std::memcpy(to, &bits, type.num_bytes);
    return true;
  }
  int64_t time = 0;
  switch (type.kind) {
    case type_kind::date:
      if (!calendar::parse_date(field, time)) return false;
      std::memcpy(to, &time, sizeof(int32_t));
      return true;
    case type_kind::timestamp:
      if (!calendar::parse_timestamp(field, time)) return false;
      std::memcpy(to, &time, sizeof time);
      return true;
    case type_kind::decimal: {
      int64_t units = 0;
      if (record::read_decimal(field, type.scale, units) != record::decimal_reading::done) return false;
      std::memcpy(to, &units, sizeof units);
      return true;
    }
    case type_kind::f32: return parse_float<float>(field, to);
    case type_kind::f64: return parse_float<double>(field, to);
    case type_kind::bytes:
      if (field.size() != type.num_bytes) return false;
      std::memcpy(to, p, type.num_bytes);
      return true;
    case type_kind::boolean: {
      const bool is_true = field == "true" || field == "1";
      if (!is_true && field != "false" && field != "0") return false;
      *to = static_cast<std::byte>(is_true);
      return true;
    }
    default: return false;  // a string is no fixed value
  }
}

std::string value_range(value_type type) {
  if (type.kind == type_kind::f32) return "up to " + record::float_text(std::numeric_limits<float>::max());
  if (type.kind == type_kind::f64) return "up to " + record::float_text(std::numeric_limits<double>::max());
  if (type.is_unsigned()) return fmt::format("0 to {}", largest_unsigned(type.num_bytes));
  const auto most = static_cast<int64_t>(largest_unsigned(type.num_bytes) >> 1);
  return fmt::format("{} to {}", -most - 1, most);
}

namespace {

// Of a text that no float of the type stands for: it is a number all the same.
bool is_too_large(value_type type, std::string_view field) {
  if (field.starts_with('+') && !field.substr(1).starts_with('-')) field.remove_prefix(1);
  double value = 0;
  if (record::read_float(field, value)) return type.kind == type_kind::f32;
  const auto [stop, status] = fast_float::from_chars(field.data(), field.data() + field.size(), value);
  const bool has_end =
      stop == field.data() + field.size() && field.find_first_of("0123456789") != std::string_view::npos;
  return has_end && (status == std::errc::result_out_of_range || (status == std::errc() && std::isinf(value)));
}

}  // namespace

std::string refusal(value_type type, std::string_view field) {
  const std::string got = field.empty() ? "an empty field" : quoted_excerpt(field);
  std::string range;
  if (type.is_integer() || (type.is_float() && is_too_large(type, field))) {
    range = fmt::format(" ({})", value_range(type));
  } else if (type.is_time() && !field.empty()) {
    return fmt::format("expected {}, got {}: {}", to_string(type), got,
                       type.is_date() ? calendar::why_no_date(field) : calendar::why_no_timestamp(field));
  } else if (type.is_decimal() && !field.empty()) {
    return fmt::format("expected {}, got {}: {}", to_string(type), got, record::why_no_decimal(field, type.scale));
  } else if (type.is_decimal()) {
    range = " (such as " + record::decimal_text(12 * record::powers_of_ten[type.scale] / 10, type.scale) + ")";
  } else if (type.is_time()) {
    range = type.is_date() ? " (such as 2026-11-23)" : " (such as 2026-11-23T22:15:03Z)";
  } else if (type.is_boolean()) {
    range = " (true, false, 1 or 0)";
  } else if (type.is_bytes()) {
    return fmt::format("expected {}, got {} of {} bytes", to_string(type), got, field.size());
  }
  // The range matters where the field is a number after all.
  const bool numeric = !field.empty() && field.find_first_not_of("0123456789", field[0] == '-' || field[0] == '+') ==
                                             std::string_view::npos;
  return fmt::format("expected {}{}, got {}", to_string(type), type.is_integer() && !numeric ? "" : range, got);
}

char* format_value(value_type type, const std::byte* from, char* to) {
  char* const end = to + max_value_chars;
  if (type.is_unsigned()) {
    uint64_t value = 0;
    std::memcpy(&value, from, type.num_bytes);
    return std::to_chars(to, end, value).ptr;
  }
  if (type.is_signed()) return std::to_chars(to, end, load_signed(from, type.num_bytes)).ptr;
  if (type.is_date()) return calendar::write_date(load_signed(from, type.num_bytes), to);
  if (type.is_timestamp()) return calendar::write_timestamp(load_signed(from, type.num_bytes), to);
  if (type.is_decimal()) return record::write_decimal(load_signed(from, type.num_bytes), type.scale, to);
  if (type.kind == type_kind::f32) return format_float<float>(from, to);
  if (type.kind == type_kind::f64) return format_float<double>(from, to);
  const std::string_view word = *from != std::byte{0} ? "true" : "false";
  std::memcpy(to, word.data(), word.size());
  return to + word.size();
}

}  // namespace flowrun::operators
