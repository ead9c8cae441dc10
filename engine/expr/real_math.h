// Functions of real numbers that are more than an instruction: compiled once, for the plain processor, and called from
// the kernels of all instruction sets, so that a result doesn't depend on the set that was chosen. Lanes as in ops.h.
#pragma once

#include <cstdint>

namespace flowrun::expr::real_math {

uint64_t exp(uint64_t a);
uint64_t log(uint64_t a);  // natural
uint64_t log2(uint64_t a);
uint64_t log10(uint64_t a);
uint64_t pow(uint64_t a, uint64_t b);
// To so many digits behind the point (`digits` is an i64; below 0: before it), halves away from zero.
uint64_t round_to(uint64_t a, uint64_t digits);
// The quotient rounded down, and what is left: it has the sign of b.
uint64_t floor_div(uint64_t a, uint64_t b);
uint64_t floor_mod(uint64_t a, uint64_t b);

}  // namespace flowrun::expr::real_math
