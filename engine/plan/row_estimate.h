// How many rows a stream has, as far as that can be known before the run.
//
// An estimate says what to expect and, apart from that, what can't be exceeded. Plans are made for what is expected;
// where too little would be wrong, as in the width of a counter or the memory of a table, the bounds are asked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace flowrun::plan {

struct row_estimate {
  static constexpr uint64_t unbounded = std::numeric_limits<uint64_t>::max();
  // Plans take larger numbers for this one: it is more than any machine has room for, and what is computed from it
  // doesn't overflow.
  static constexpr uint64_t most_expected = uint64_t{1} << 56U;

  uint64_t rows = 0;
  uint64_t num_bytes = 0;  // rows and their strings
  bool known = false;      // false: nothing is known (an input that can't be looked at)
  bool exact = false;      // there are just so many rows, or most_expected and more
  // No more than these, with any content of the input.
  uint64_t most_rows = unbounded;
  uint64_t most_bytes = unbounded;

  bool bounds_rows() const { return known && rows >= most_rows; }
  bool bounds_bytes() const { return known && num_bytes >= most_bytes; }
};

// a * b, or no bound.
constexpr uint64_t bound_times(uint64_t a, uint64_t b) {
  return b != 0 && a > row_estimate::unbounded / b ? row_estimate::unbounded : a * b;
}
constexpr uint64_t bound_plus(uint64_t a, uint64_t b) {
  return a > row_estimate::unbounded - b ? row_estimate::unbounded : a + b;
}

constexpr uint64_t expected(uint64_t number) { return std::min(number, row_estimate::most_expected); }

// Just so many rows of a fixed width.
constexpr row_estimate exact_rows(uint64_t rows, uint64_t row_bytes) {
  const uint64_t num_bytes = bound_times(rows, row_bytes);
  return {expected(rows), expected(num_bytes), true, true, rows, num_bytes};
}

}  // namespace flowrun::plan
