#include "engine/expr/real_math.h"

#include <array>
#include <cmath>

#include "engine/expr/lane.h"

namespace flowrun::expr::real_math {

namespace {

using lane::bits;
using lane::f;

// 10^0 to 10^22 are doubles; so a number of up to 15 digits becomes the double next to what it is on paper.
constexpr std::array<double, 23> exact_powers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                                 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

double power_of_ten(int64_t exponent) {
  if (exponent < static_cast<int64_t>(exact_powers.size())) return exact_powers[static_cast<size_t>(exponent)];
  return std::pow(10.0, static_cast<double>(exponent));
}

}  // namespace

uint64_t exp(uint64_t a) { return bits(std::exp(f(a))); }
uint64_t log(uint64_t a) { return bits(std::log(f(a))); }
uint64_t log2(uint64_t a) { return bits(std::log2(f(a))); }
uint64_t log10(uint64_t a) { return bits(std::log10(f(a))); }
uint64_t pow(uint64_t a, uint64_t b) { return bits(std::pow(f(a), f(b))); }

uint64_t round_to(uint64_t a, uint64_t digits) {
  const double value = f(a);
  const auto places = static_cast<int64_t>(digits);
  // From here on all doubles are whole, and so is what they are in units of 10^-digits.
  constexpr double all_whole = 0x1p52;
  if (places == 0 || !std::isfinite(value)) return bits(std::round(value));
  if (places < -308) return bits(std::copysign(0.0, value));
  if (places < 0) {
    const double unit = power_of_ten(-places);
    return bits(std::round(value / unit) * unit);
  }
  if (places > 308) return a;
  const double unit = power_of_ten(places);
  const double scaled = value * unit;
  return std::fabs(scaled) < all_whole ? bits(std::round(scaled) / unit) : a;
}

uint64_t floor_mod(uint64_t a, uint64_t b) {
  const double divisor = f(b);
  const double rest = std::fmod(f(a), divisor);
  if (rest == 0) return bits(std::copysign(0.0, divisor));
  return bits((rest < 0) != (divisor < 0) ? rest + divisor : rest);
}

// As Python's //: (a - rest) / b is a whole number but for its last bit.
uint64_t floor_div(uint64_t a, uint64_t b) {
  const double value = f(a), divisor = f(b);
  if (divisor == 0 || !std::isfinite(value)) return bits(lane::div_f(value, divisor));
  const double rest = std::fmod(value, divisor);
  double quotient = (value - rest) / divisor;
  if (rest != 0 && (rest < 0) != (divisor < 0)) quotient -= 1;
  if (quotient == 0) return bits(std::copysign(0.0, value / divisor));
  return bits(std::round(quotient));
}

}  // namespace flowrun::expr::real_math
