// Text as a float, everywhere the same (CSV fields, to_f64): the whole text is the number, and it is the nearest one.
// What is too small for any is 0, with its sign; what is too large is no number; "inf" and "nan" are.
#pragma once

#include <fast_float/fast_float.h>

#include <cmath>
#include <string_view>
#include <system_error>

namespace flowrun::record {

// False, and `value` undefined, when the text spells no float. A plus in front is left to the caller.
template <class Float>
bool read_float(std::string_view text, Float& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, status] = fast_float::from_chars(text.data(), end, value);
  if (status != std::errc() || stop != end) return false;
  return !std::isinf(value) || text.find_first_of("0123456789") == std::string_view::npos;  // 1e999
}

}  // namespace flowrun::record
