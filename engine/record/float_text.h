// Floats as text, everywhere the same: the fewest digits that read back as the same number, "inf", "-inf", "-0", and
// one "nan" for every NaN, of any sign and payload.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>

namespace flowrun::record {

// Most bytes that a float's text takes.
constexpr size_t max_float_chars = 32;

// Writes the text and returns its end.
template <class Float>
char* write_float(Float value, char* to) {
  if (!std::isnan(value)) return std::to_chars(to, to + max_float_chars, value).ptr;
  std::memcpy(to, "nan", 3);
  return to + 3;
}

template <class Float>
std::string float_text(Float value) {
  char out[max_float_chars];
  return {out, write_float(value, out)};
}

}  // namespace flowrun::record
