#include "engine/expr/number_keys.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "engine/expr/text_fields.h"

namespace flowrun::expr {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr int64_t lowest_exponent = -40;
constexpr int64_t highest_exponent = 84;
constexpr unsigned char zero_header = 0x80;
constexpr unsigned char tiny_header = 0x81;
constexpr unsigned char lowest_header = 0x82;
constexpr unsigned char huge_header = 0xff;
static_assert(lowest_header + highest_exponent - lowest_exponent == huge_header - 1);

char* put_big_endian(char* out, uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) *out++ = static_cast<char>(value >> shift);
  return out;
}

char* put_header(char* out, int64_t exponent) {
  if (exponent >= lowest_exponent && exponent <= highest_exponent) {
    *out = static_cast<char>(lowest_header + (exponent - lowest_exponent));
    return out + 1;
  }
  *out++ = static_cast<char>(exponent < 0 ? tiny_header : huge_header);
  return put_big_endian(out, static_cast<uint64_t>(exponent) ^ (uint64_t{1} << 63));
}

// The classes of texts that write_real_key tells apart, in their order.
enum : char { no_number = 0, not_a_number = 1, below_zero = 2, zero = 3, above_zero = 4 };

// Exponent and mantissa of a value that is no NaN, and its class in front.
void put_real(char* out, long double value) {
  constexpr int digits = std::numeric_limits<long double>::digits;
  static_assert(digits <= 64, "a mantissa is one word");
  constexpr int least_exponent = -16500;  // below those of 80 bits, also of denormal numbers
  *out++ = value < 0 ? below_zero : value > 0 ? above_zero : zero;
  if (value == 0) return;
  uint16_t header = 0xffff;
  uint64_t mantissa = 0;
  if (!std::isinf(value)) {
    int exponent = 0;
    mantissa = static_cast<uint64_t>(std::ldexp(std::frexp(std::fabs(value), &exponent), digits));
    header = static_cast<uint16_t>(exponent - least_exponent);
  }
  if (value < 0) {
    header = static_cast<uint16_t>(~header);
    mantissa = ~mantissa;
  }
  *out++ = static_cast<char>(header >> 8);
  *out++ = static_cast<char>(header);
  put_big_endian(out, mantissa);
}

}  // namespace

decimal_text read_decimal(std::string_view text) {
  decimal_text out;
  const size_t end = text.size();
  size_t i = 0;
  while (i < end && is_blank(text[i])) ++i;
  if (i < end && text[i] == '-') {
    out.negative = true;
    ++i;
  }
  while (i < end && text[i] == '0') ++i;
  const size_t whole = i;
  while (i < end && is_digit(text[i])) ++i;
  out.whole = text.substr(whole, i - whole);
  if (i < end && text[i] == '.') {
    const size_t fraction = ++i;
    while (i < end && is_digit(text[i])) ++i;
    out.fraction = text.substr(fraction, i - fraction);
    while (out.fraction.ends_with('0')) out.fraction.remove_suffix(1);
  }
  out.end = i;
  return out;
}

size_t write_decimal_key(std::string_view text, char* out) {
  const decimal_text number = read_decimal(text);
  if (number.is_zero()) {
    *out = static_cast<char>(zero_header);
    return 1;
  }
  std::string_view whole = number.whole, fraction = number.fraction;
  auto exponent = static_cast<int64_t>(whole.size());
  if (whole.empty()) {
    for (; fraction.front() == '0'; fraction.remove_prefix(1)) --exponent;
  } else if (fraction.empty()) {
    while (whole.ends_with('0')) whole.remove_suffix(1);
  }
  char* at = put_header(out, exponent);
  const size_t num_digits = whole.size() + fraction.size();
  const auto digit = [&](size_t i) { return (i < whole.size() ? whole[i] : fraction[i - whole.size()]) - '0'; };
  for (size_t i = 0; i < num_digits; i += 2)
    *at++ = static_cast<char>(1 + 10 * digit(i) + (i + 1 < num_digits ? digit(i + 1) : 0));
  if (number.negative) {
    for (char* p = out; p < at; ++p) *p = static_cast<char>(~*p);
    *at++ = static_cast<char>(0xff);
  }
  return static_cast<size_t>(at - out);
}

size_t write_size_key(std::string_view text, char* out) {
  constexpr std::string_view units = "KMGTPEZY";
  const decimal_text number = read_decimal(text);
  int order = 0;
  if (!number.is_zero() && number.end < text.size()) {
    const char unit = text[number.end] == 'k' ? 'K' : text[number.end];
    const size_t at = units.find(unit);
    if (at != std::string_view::npos) order = static_cast<int>(at) + 1;
  }
  *out = static_cast<char>(0x80 + (number.negative ? -order : order));
  return 1 + write_decimal_key(text, out + 1);
}

void write_real_key(std::string_view text, char* out) {
  std::fill_n(out, real_key_bytes, '\0');
  // strtold wants a zero behind the text. No number that it reads is longer than what fits here, except for digits
  // that go on and on.
  std::array<char, 64> few;
  std::string many;
  const char* begin = few.data();
  if (text.size() < few.size()) {
    if (!text.empty()) std::memcpy(few.data(), text.data(), text.size());
    few[text.size()] = '\0';
  } else {
    many = text;
    begin = many.c_str();
  }
  char* end = nullptr;
  const long double value = std::strtold(begin, &end);
  if (end == begin) return;  // no_number
  if (std::isnan(value))
    out[0] = not_a_number;
  else
    put_real(out, value);
}

unsigned month_number(std::string_view text) {
  constexpr std::string_view months = "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC";
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  if (text.size() < 3) return 0;
  std::array<char, 3> name;
  for (size_t i = 0; i < 3; ++i) name[i] = static_cast<char>(text[i] >= 'a' && text[i] <= 'z' ? text[i] - 32 : text[i]);
  for (unsigned month = 0; month < 12; ++month)
    if (std::equal(name.begin(), name.end(), months.begin() + 3 * month)) return month + 1;
  return 0;
}

}  // namespace flowrun::expr
