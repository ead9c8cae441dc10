#include "operators/parts/text/json_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "engine/base/excerpt.h"
#include "engine/record/decimal_text.h"
#include "operators/parts/text/csv_value.h"

namespace flowrun::operators {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

const char* behind_digits(const char* p, const char* end) {
  while (p != end && is_digit(*p)) ++p;
  return p;
}

// The digits of a JSON number that has a fraction or an exponent, if it is a whole number; at most so many that no
// integer type can take them.
std::optional<std::string> whole_number(std::string_view token) {
  constexpr int64_t enough = 32;
  const bool negative = token.starts_with('-');
  token.remove_prefix(negative);
  const size_t mark = std::min(token.find_first_of("eE"), token.size());
  const std::string_view mantissa = token.substr(0, mark);
  std::string_view exponent_text = token.substr(std::min(mark + 1, token.size()));
  if (exponent_text.starts_with('+')) exponent_text.remove_prefix(1);
  int64_t exponent = 0;
  if (!exponent_text.empty()) {
    const char* const end = exponent_text.data() + exponent_text.size();
    if (std::from_chars(exponent_text.data(), end, exponent).ec != std::errc())
      exponent = exponent_text[0] == '-' ? INT32_MIN : INT32_MAX;
  }
  std::string digits(mantissa.substr(0, mantissa.find('.')));
  // Where the point is among them.
  const int64_t point = static_cast<int64_t>(digits.size()) + std::clamp<int64_t>(exponent, INT32_MIN, INT32_MAX);
  if (const size_t dot = mantissa.find('.'); dot != std::string_view::npos) digits += mantissa.substr(dot + 1);
  const size_t first = std::min(digits.find_first_not_of('0'), digits.size());
  if (first == digits.size()) return "0";
  if (point <= static_cast<int64_t>(first)) return std::nullopt;
  if (point < static_cast<int64_t>(digits.size())) {
    if (digits.find_first_not_of('0', static_cast<size_t>(point)) != std::string::npos) return std::nullopt;
    digits.resize(static_cast<size_t>(point));
  }
  const int64_t zeros = point - static_cast<int64_t>(digits.size());
  return (negative ? "-" : "") + digits.substr(first) + std::string(static_cast<size_t>(std::min(zeros, enough)), '0');
}

// Of a number without an exponent; as many as a decimal may have.
size_t digits_behind_point(std::string_view number) {
  const size_t point = number.find('.');
  if (point == std::string_view::npos) return 0;
  return std::min<size_t>(number.size() - point - 1, record::max_decimal_scale);
}

// Of a text, in its quotes, where a number should be. A string column takes texts alone, a number numbers alone.
std::string advice_on_text(std::string_view token) {
  const std::string_view inside = token.substr(1, token.size() < 2 ? 0 : token.size() - 2);
  const size_t digits = digits_behind_point(inside);
  int64_t units = 0;
  if (record::read_decimal(inside, static_cast<uint32_t>(digits), units) == record::decimal_reading::done)
    return fmt::format("; decimal[{}] takes numbers and such texts", digits);
  return "; if it is a text in all lines, take it as a string, and convert it in a map";
}

}  // namespace

bool is_json_number(std::string_view token) {
  const char* p = token.data();
  const char* const end = p + token.size();
  if (p != end && *p == '-') ++p;
  const char* behind = behind_digits(p, end);
  if (behind == p || (*p == '0' && behind != p + 1)) return false;
  p = behind;
  if (p != end && *p == '.') {
    behind = behind_digits(++p, end);
    if (behind == p) return false;
    p = behind;
  }
  if (p != end && (*p == 'e' || *p == 'E')) {
    ++p;
    if (p != end && (*p == '+' || *p == '-')) ++p;
    behind = behind_digits(p, end);
    if (behind == p) return false;
    p = behind;
  }
  return p == end;
}

bool parse_json_number(record::value_type type, std::string_view token, std::byte* to) {
  if (parse_value(type, token, to)) return true;
  if (!type.is_integer()) return false;
  const std::optional<std::string> whole = whole_number(token);
  return whole && *whole != token && parse_value(type, *whole, to);
}

std::string json_kind(std::string_view token) {
  if (token.empty()) return "nothing";
  switch (token[0]) {
    case '{': return "an object";
    case '[': return "an array";
    case '"': return "the text " + quoted_excerpt(token.substr(1, token.size() < 2 ? 0 : token.size() - 2));
    case 't':
    case 'f':
    case 'n': return std::string(token.substr(0, 5));
    default:
      return fmt::format("the number {}",
                         token.size() <= 40 ? std::string(token) : std::string(token.substr(0, 40)) + "…");
  }
}

std::string json_refusal(record::value_type type, std::string_view token) {
  const std::string got = json_kind(token);
  const bool number = !token.empty() && (token[0] == '-' || is_digit(token[0]));
  const bool text = token.starts_with('"');
  std::string expected = to_string(type);
  // A float takes all numbers but those that are too large.
  if ((type.is_integer() && number) || (type.is_float() && is_json_number(token)))
    expected += fmt::format(" ({})", value_range(type));
  if (type.is_boolean()) expected += " (true or false)";
  if (type.is_time())
    expected += type.is_date() ? " (a text such as \"2026-11-23\")" : " (a text such as \"2026-11-23T22:15:03Z\")";
  if (type.is_decimal() && number)
    return fmt::format("expected {}, got {}: {}", expected, got, record::why_no_decimal(token, type.scale));
  std::string advice;
  if (type.is_number() && text) advice = advice_on_text(token);
  if (type.is_string() && number && token.find_first_of("eE") == std::string_view::npos)
    advice = fmt::format("; if its texts are numbers, decimal[{}] takes both", digits_behind_point(token));
  return fmt::format("expected {}, got {}{}", expected, got, advice);
}

}  // namespace flowrun::operators
