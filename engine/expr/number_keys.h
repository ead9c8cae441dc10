// Numbers in text as bytes whose order, byte by byte, is the order of the numbers: so that the sort needs to know
// nothing but bytes.
//
// decimal_key, of an exact decimal number of any length: a header, then the digits without leading and trailing zeros,
// two in a byte. With the value 0.d1d2d3… × 10^e and d1 not 0, the header is
//   0x80                      for 0
//   0x82 + 40 + e             for a number above 0, where e is in -40 … 84
//   0x81, 0xff and 8 bytes    for smaller and larger e
// and for a number below 0 all bytes are complemented and a byte 0xff ends them, since there a longer number is the
// smaller one. A number of up to 22 digits is a key of at most 12 bytes, which is what the sort holds in its index.
#pragma once

#include <cstddef>
#include <string_view>

namespace flowrun::expr {

// The number that a text begins with, as sort -n reads it: blanks, '-', digits, '.', digits; 0 when there is none.
struct decimal_text {
  bool negative = false;
  std::string_view whole;     // digits before the point, without leading zeros
  std::string_view fraction;  // digits behind it, without trailing zeros
  size_t end = 0;             // of the number in the text
  bool is_zero() const { return whole.empty() && fraction.empty(); }
};
decimal_text read_decimal(std::string_view text);

// The most bytes that a key of this text takes.
inline size_t decimal_key_bound(std::string_view text) { return text.size() / 2 + 12; }
// Writes the key to `out`; returns its length.
size_t write_decimal_key(std::string_view text, char* out);

// As sort -h compares sizes such as 2K and 1.5G: numbers below 0, then by the unit (none, K or k, M, G, T, P, E, Z, Y),
// then by the number. One byte more than decimal_key.
size_t write_size_key(std::string_view text, char* out);

// The floating-point number that a text begins with, as sort -g reads it (strtold, locale C): texts without one come
// first, then NaN, then numbers from -infinity on. Always real_key_bytes.
constexpr size_t real_key_bytes = 11;
void write_real_key(std::string_view text, char* out);

// 1 to 12 when the text begins, behind blanks, with the first three letters of an English month in any case; else 0.
unsigned month_number(std::string_view text);

}  // namespace flowrun::expr
