#include "engine/expr/decimal_lane.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>

#include "engine/expr/outside_function.h"
#include "engine/record/float_text.h"

namespace flowrun::expr::decimal_lane {

namespace {

constexpr const char* way_out = "compute with fewer digits behind the point, as in round(x, 2), or with floats: f64(x)";

[[noreturn]] void fail_with(std::string message) {
  throw call_failed({error_kind::bad_data, std::move(message), way_out});
}

}  // namespace

void fail(operation what, uint64_t a, uint64_t b) {
  const auto x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
  switch (what) {
    case operation::of_unsigned: fail_with(fmt::format("{} does not fit in a decimal", a));
    case operation::of_float:
      fail_with(fmt::format("{} does not fit in a decimal with {} digits behind the point",
                            record::float_text(lane::f(a)), b));
    default: break;
  }
  const char symbol = what == operation::sum ? '+' : what == operation::difference ? '-' : '*';
  fail_with(fmt::format("a decimal becomes too large: {} {} {}, in units of the last digit, does not fit in 64 bits", x,
                        symbol, y));
}

uint64_t long_to_f(uint64_t a, uint64_t m) {
  const bool negative = (a & lane::sign_bit) != 0;
  const lane::wide_lane size = negative ? 0 - a : a;
  // The quotient is at least 2^56, so it has more bits than a double; its lowest one says whether there is a rest.
  constexpr int shift = 63;
  const lane::wide_lane scaled = size << shift;
  lane::wide_lane quotient = scaled / m;
  if (quotient * m != scaled) quotient |= 1;
  const double value = std::ldexp(static_cast<double>(quotient), -shift);
  return lane::bits(negative ? -value : value);
}

uint64_t of_f(uint64_t a, uint64_t m) {
  const double value = lane::f(a);
  const auto refuse = [&] {
    uint64_t digits = 0;
    for (uint64_t power = 1; power < m; power *= 10) ++digits;
    fail(operation::of_float, a, digits);
  };
  if (!std::isfinite(value)) refuse();
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // value = fraction * 2^exponent
  constexpr int bits = 53;
  const bool negative = fraction < 0;
  const auto mantissa = static_cast<uint64_t>(std::abs(std::ldexp(fraction, bits)));
  const lane::wide_lane product = static_cast<lane::wide_lane>(mantissa) * m;  // below 2^113
  const int shift = bits - exponent;
  lane::wide_lane size = 0;
  if (shift > 0 && shift < 120) {
    size = (product >> (shift - 1)) + 1;  // one bit more, and half a unit
    size >>= 1;
  } else if (shift <= 0) {
    constexpr int most = 11;  // the mantissa is 0, or has 53 bits: beyond, there are more than 64 before the point
    if (mantissa != 0 && -shift > most) refuse();
    if (mantissa != 0) size = product << -shift;
  }
  constexpr auto most = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (size > most + (negative ? 1 : 0)) refuse();
  const auto units = static_cast<uint64_t>(size);
  return negative ? 0 - units : units;
}

}  // namespace flowrun::expr::decimal_lane
