// What expressions do with decimals, on lanes: i64, units of 10^-scale. Where a result doesn't fit, call_failed is
// thrown: amounts of money must not wrap around, and there is no value that could stand for "too large".
#pragma once

#include <cstdint>

#include "engine/expr/lane.h"

namespace flowrun::expr::decimal_lane {

#define FLOWRUN_LANE inline __attribute__((always_inline))

// What a result that is beyond 64 bits was made of. (Out of line, so that the loops stay small.)
enum class operation : uint8_t { sum, difference, product, of_unsigned, of_float };
[[noreturn]] void fail(operation what, uint64_t a, uint64_t b);

FLOWRUN_LANE uint64_t add(uint64_t a, uint64_t b) {
  int64_t out = 0;
  if (__builtin_add_overflow(static_cast<int64_t>(a), static_cast<int64_t>(b), &out)) fail(operation::sum, a, b);
  return static_cast<uint64_t>(out);
}
FLOWRUN_LANE uint64_t sub(uint64_t a, uint64_t b) {
  int64_t out = 0;
  if (__builtin_sub_overflow(static_cast<int64_t>(a), static_cast<int64_t>(b), &out)) fail(operation::difference, a, b);
  return static_cast<uint64_t>(out);
}
FLOWRUN_LANE uint64_t mul(uint64_t a, uint64_t b) {
  int64_t out = 0;
  if (__builtin_mul_overflow(static_cast<int64_t>(a), static_cast<int64_t>(b), &out)) fail(operation::product, a, b);
  return static_cast<uint64_t>(out);
}
FLOWRUN_LANE uint64_t of_unsigned(uint64_t a) {
  if ((a & lane::sign_bit) != 0) fail(operation::of_unsigned, a, 0);
  return a;
}

// a / m, a power of ten, to the nearest; halves away from zero.
FLOWRUN_LANE uint64_t rounded(uint64_t a, uint64_t m) {
  const auto value = static_cast<int64_t>(a), unit = static_cast<int64_t>(m);
  const int64_t quotient = value / unit, rest = value % unit;
  const int64_t twice = rest < 0 ? -2 * rest : 2 * rest;
  return static_cast<uint64_t>(twice < unit ? quotient : value < 0 ? quotient - 1 : quotient + 1);
}

// a / m, m a power of ten, as the double next to it.
uint64_t long_to_f(uint64_t a, uint64_t m);
FLOWRUN_LANE uint64_t to_f(uint64_t a, uint64_t m) {
  constexpr uint64_t exact = uint64_t{1} << 53;  // up to here i64 and double hold the same
  // Powers of ten up to 10^22 are doubles, so the division is the only thing that rounds.
  if (a + exact <= 2 * exact)
    return lane::bits(static_cast<double>(static_cast<int64_t>(a)) / static_cast<double>(static_cast<int64_t>(m)));
  return long_to_f(a, m);
}

// a * m, a a double and m a power of ten, as the integer next to it; halves away from zero.
uint64_t of_f(uint64_t a, uint64_t m);

#undef FLOWRUN_LANE

}  // namespace flowrun::expr::decimal_lane
