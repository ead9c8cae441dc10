#include "engine/record/decimal_text.h"

#include <charconv>
#include <cstring>
#include <limits>

namespace flowrun::record {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The digits of a number up to 10^19 - 1, and whether there were more.
struct magnitude {
  uint64_t value = 0;
  bool too_large = false;

  template <bool MayOverflow>
  void append(char digit) {
    const auto d = static_cast<uint64_t>(digit - '0');
    if constexpr (MayOverflow)
      too_large = __builtin_mul_overflow(value, uint64_t{10}, &value) || too_large;
    else
      value *= 10;
    if constexpr (MayOverflow)
      too_large = __builtin_add_overflow(value, d, &value) || too_large;
    else
      value += d;
  }
};

template <bool MayOverflow>
decimal_reading read_digits(const char* p, const char* end, uint32_t scale, bool rounds, magnitude& out) {
  const char* const begin = p;
  for (; p != end && is_digit(*p); ++p) out.append<MayOverflow>(*p);
  size_t num_digits = static_cast<size_t>(p - begin);
  uint32_t behind = 0;
  bool is_cut = false, is_half = false;
  if (p != end && *p == '.') {
    const char* const point = p++;
    for (; p != end && is_digit(*p) && behind < scale; ++p, ++behind) out.append<MayOverflow>(*p);
    if (p != end && is_digit(*p)) is_half = *p >= '5';
    for (; p != end && is_digit(*p); ++p) is_cut = is_cut || *p != '0';
    num_digits += static_cast<size_t>(p - point) - 1;
  }
  if (p != end || num_digits == 0) return decimal_reading::no_number;
  if (is_cut && !rounds) return decimal_reading::too_many_digits;
  const auto power = static_cast<uint64_t>(powers_of_ten[scale - behind]);
  out.too_large = __builtin_mul_overflow(out.value, power, &out.value) || out.too_large;
  if (is_half) out.too_large = __builtin_add_overflow(out.value, uint64_t{1}, &out.value) || out.too_large;
  return out.too_large ? decimal_reading::too_large : decimal_reading::done;
}

}  // namespace

decimal_reading read_decimal(std::string_view text, uint32_t scale, int64_t& units, bool rounds) {
  constexpr size_t never_too_large = 18;
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const char* const p = text.data();
  const char* const end = p + text.size();
  magnitude size;
  const decimal_reading how = text.size() <= never_too_large ? read_digits<false>(p, end, scale, rounds, size)
                                                             : read_digits<true>(p, end, scale, rounds, size);
  if (how != decimal_reading::done) return how;
  constexpr auto most = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (size.value > most + (negative ? 1 : 0)) return decimal_reading::too_large;
  units = static_cast<int64_t>(negative ? 0 - size.value : size.value);
  return decimal_reading::done;
}

std::string why_no_decimal(std::string_view text, uint32_t scale) {
  int64_t units = 0;
  switch (read_decimal(text, scale, units)) {
    case decimal_reading::done: return {};
    case decimal_reading::no_number: return "a decimal has digits, a point and a sign, as in -12.50";
    case decimal_reading::too_many_digits:
      return "it has " + std::to_string(digits_behind_point(text)) + " digits behind the point";
    case decimal_reading::too_large: return "it is not in the range " + decimal_range(scale);
  }
  return {};
}

size_t digits_behind_point(std::string_view text) {
  const size_t point = text.find('.');
  return point == std::string_view::npos ? 0 : text.size() - point - 1;
}

char* write_decimal(int64_t units, uint32_t scale, char* to) {
  uint64_t size = units < 0 ? 0 - static_cast<uint64_t>(units) : static_cast<uint64_t>(units);
  if (units < 0) *to++ = '-';
  const auto power = static_cast<uint64_t>(powers_of_ten[scale]);
  to = std::to_chars(to, to + max_decimal_chars, size / power).ptr;
  if (scale == 0) return to;
  *to = '.';
  size %= power;
  for (char* digit = to + scale; digit != to; --digit, size /= 10) *digit = static_cast<char>('0' + size % 10);
  return to + scale + 1;
}

std::string decimal_text(int64_t units, uint32_t scale) {
  char out[max_decimal_chars];
  return {out, write_decimal(units, scale, out)};
}

std::string decimal_range(uint32_t scale) {
  using limits = std::numeric_limits<int64_t>;
  return decimal_text(limits::min(), scale) + " to " + decimal_text(limits::max(), scale);
}

}  // namespace flowrun::record
