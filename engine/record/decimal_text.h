// Decimals as text, everywhere the same: a sign, digits, and behind a point as many digits as the scale says. 1250
// units of scale 2 are "12.50".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/record/value_type.h"

namespace flowrun::record {

constexpr std::array<int64_t, max_decimal_scale + 1> powers_of_ten = [] {
  std::array<int64_t, max_decimal_scale + 1> out{};
  int64_t power = 1;
  for (int64_t& p : out) {
    p = power;
    if (&p != &out.back()) power *= 10;
  }
  return out;
}();

// Most bytes that a decimal's text takes.
constexpr size_t max_decimal_chars = 24;

enum class decimal_reading : uint8_t { done, no_number, too_many_digits, too_large };

// The whole text must be the number: digits with one point among them or none, behind a sign or none. Zeros at its end
// may be more than the scale has room for; of other digits behind the scale's `rounds` makes the nearest number, halves
// away from zero. `units` is undefined unless it is done.
decimal_reading read_decimal(std::string_view text, uint32_t scale, int64_t& units, bool rounds = false);

// Why it can't be read: "it has 3 digits behind the point".
std::string why_no_decimal(std::string_view text, uint32_t scale);

// How many digits such a text has behind its point, as it is written; whatever else is in it.
size_t digits_behind_point(std::string_view text);

// Writes the text and returns its end.
char* write_decimal(int64_t units, uint32_t scale, char* to);
std::string decimal_text(int64_t units, uint32_t scale);
// "-92233720368547758.08 to 92233720368547758.07".
std::string decimal_range(uint32_t scale);

}  // namespace flowrun::record
