// Arithmetic on 8-byte lanes that needs more than one C++ operator. All defined for every input: no undefined
// behaviour.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flowrun::expr::lane {

#define FLOWRUN_LANE inline __attribute__((always_inline))

__extension__ using wide_lane = unsigned __int128;

constexpr uint64_t sign_bit = uint64_t{1} << 63;
constexpr uint64_t golden = 0x9E3779B97F4A7C15;

FLOWRUN_LANE double f(uint64_t a) { return __builtin_bit_cast(double, a); }
FLOWRUN_LANE uint64_t bits(double a) { return __builtin_bit_cast(uint64_t, a); }
// All ones for a negative number.
FLOWRUN_LANE uint64_t sign_mask(uint64_t a) { return static_cast<uint64_t>(static_cast<int64_t>(a) >> 63); }

// The finaliser of splitmix64 (Steele, Lea, Flood 2014, with Stafford's constants): a bijection, each bit of the result
// depends on all bits of a.
FLOWRUN_LANE uint64_t mix(uint64_t a) {
  a = (a + golden);
  a = (a ^ (a >> 30)) * 0xBF58476D1CE4E5B9;
  a = (a ^ (a >> 27)) * 0x94D049BB133111EB;
  return a ^ (a >> 31);
}

FLOWRUN_LANE uint64_t bit_reverse(uint64_t a) {
  a = ((a >> 1) & 0x5555555555555555) | ((a & 0x5555555555555555) << 1);
  a = ((a >> 2) & 0x3333333333333333) | ((a & 0x3333333333333333) << 2);
  a = ((a >> 4) & 0x0F0F0F0F0F0F0F0F) | ((a & 0x0F0F0F0F0F0F0F0F) << 4);
  return __builtin_bswap64(a);
}

FLOWRUN_LANE uint64_t clz(uint64_t a) { return a == 0 ? 64 : static_cast<uint64_t>(__builtin_clzll(a)); }
FLOWRUN_LANE uint64_t ctz(uint64_t a) { return a == 0 ? 64 : static_cast<uint64_t>(__builtin_ctzll(a)); }

// Rounds toward zero; a / 0 = 0; the one quotient that doesn't fit wraps around.
FLOWRUN_LANE uint64_t div_i(uint64_t a, uint64_t b) {
  const int64_t divisor = static_cast<int64_t>(b);
  if (divisor == 0) return 0;
  if (divisor == -1) return 0 - a;
  return static_cast<uint64_t>(static_cast<int64_t>(a) / divisor);
}
FLOWRUN_LANE uint64_t rem_i(uint64_t a, uint64_t b) {
  const int64_t divisor = static_cast<int64_t>(b);
  if (divisor == 0 || divisor == -1) return 0;
  return static_cast<uint64_t>(static_cast<int64_t>(a) % divisor);
}

// Rounds down; the rest has the sign of b.
FLOWRUN_LANE uint64_t floor_div_i(uint64_t a, uint64_t b) {
  const int64_t rest = static_cast<int64_t>(rem_i(a, b));
  return div_i(a, b) - (rest != 0 && (rest < 0) != (static_cast<int64_t>(b) < 0) ? 1 : 0);
}
FLOWRUN_LANE uint64_t floor_mod_i(uint64_t a, uint64_t b) {
  const uint64_t rest = rem_i(a, b);
  return rest != 0 && ((rest ^ b) & sign_bit) != 0 ? rest + b : rest;
}
// -1, 0 or 1 as i64; 0 for NaN.
FLOWRUN_LANE uint64_t sign_f(uint64_t a) {
  return static_cast<uint64_t>(int64_t{f(a) > 0 ? 1 : 0} - int64_t{f(a) < 0 ? 1 : 0});
}

// IEEE 754 division: x / 0 is an infinity, 0 / 0 is NaN. The sanitizer calls that undefined, the hardware doesn't.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_UNDEFINED__)
inline __attribute__((no_sanitize("float-divide-by-zero"))) double div_f(double a, double b) { return a / b; }
#else
FLOWRUN_LANE double div_f(double a, double b) { return a / b; }
#endif

// Narrowing of an out of range double gives an infinity by IEEE 754.
FLOWRUN_LANE uint64_t round_to_f32(uint64_t a) {
  const double wide = f(a);
  const double limit = 0x1.ffffffp127;  // halfway between the largest float and 2^128
  const double infinity = __builtin_inf();
  if (wide >= limit) return bits(infinity);
  if (wide <= -limit) return bits(-infinity);
  return bits(static_cast<double>(static_cast<float>(wide > 0x1.fffffep127    ? 0x1.fffffep127
                                                     : wide < -0x1.fffffep127 ? -0x1.fffffep127
                                                                              : wide)));
}

// Saturates to [0, max]; NaN gives 0.
FLOWRUN_LANE uint64_t f_to_u(uint64_t a, uint64_t max) {
  const double value = f(a);
  if (!(value > 0)) return 0;
  if (value >= 0x1p64) return max;
  const uint64_t whole = static_cast<uint64_t>(value);
  return whole < max ? whole : max;
}
// Saturates to [-max - 1, max]; NaN gives 0.
FLOWRUN_LANE uint64_t f_to_i(uint64_t a, uint64_t max) {
  const double value = f(a);
  const int64_t high = static_cast<int64_t>(max);
  const int64_t low = -high - 1;
  if (value != value) return 0;
  if (value >= 0x1p63) return static_cast<uint64_t>(high);
  if (value <= -0x1p63) return static_cast<uint64_t>(low);
  const int64_t whole = static_cast<int64_t>(value);
  return static_cast<uint64_t>(whole < low ? low : whole > high ? high : whole);
}

// Keeps the low 64 - shift bits, as two's complement.
FLOWRUN_LANE uint64_t sign_extend(uint64_t a, uint64_t shift) {
  return static_cast<uint64_t>(static_cast<int64_t>(a << shift) >> shift);
}

// a / d for an invariant d that is not a power of two (Granlund and Montgomery, "Division by Invariant Integers using
// Multiplication", PLDI 1994, figure 4.1): m = floor(2^64 (2^l - d) / d) + 1 with l = ceil(log2 d), shift = l - 1.
FLOWRUN_LANE uint64_t div_magic(uint64_t a, uint64_t m, uint64_t shift) {
  const uint64_t high = static_cast<uint64_t>((static_cast<wide_lane>(a) * m) >> 64);
  return (((a - high) >> 1) + high) >> shift;
}
FLOWRUN_LANE uint64_t magic_for(uint64_t d, uint64_t& shift) {
  const int l = 64 - __builtin_clzll(d - 1);
  shift = static_cast<uint64_t>(l - 1);
  const uint64_t difference = (l == 64 ? 0 : uint64_t{1} << l) - d;  // 2^l - d, which is less than d
  return static_cast<uint64_t>((static_cast<wide_lane>(difference) << 64) / d) + 1;
}

#undef FLOWRUN_LANE

}  // namespace flowrun::expr::lane
