#include "operators/parts/algorithms/generate_rmat.h"

namespace flowrun::operators {

namespace {

// splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}
constexpr uint64_t golden = 0x9E3779B97F4A7C15;

uint64_t times_2_32(double p) {
  const double scaled = p * 4294967296.0;
  return scaled <= 0 ? 0 : scaled >= 4294967296.0 ? uint64_t{1} << 32 : static_cast<uint64_t>(scaled);
}

}  // namespace

rmat_generator::rmat_generator(unsigned scale, double a, double b, double c, uint64_t seed)
    : scale_(scale),
      seed_(mix(seed + golden)),
      below_a_(times_2_32(a)),
      below_b_(times_2_32(a + b)),
      below_c_(times_2_32(a + b + c)) {}

std::pair<uint64_t, uint64_t> rmat_generator::edge(uint64_t i) const {
  uint64_t state = mix(seed_ ^ mix(i * golden + golden));
  uint64_t random = 0;
  uint64_t source = 0;
  uint64_t target = 0;
  for (unsigned level = 0; level < scale_; ++level) {
    if (level % 2 == 0) random = mix(state += golden);  // 32 bits for each of two levels
    const uint64_t draw = random & 0xFFFFFFFF;
    random >>= 32;
    // Quadrants in the order (0, 0), (0, 1), (1, 0), (1, 1).
    const auto past_a = static_cast<uint64_t>(draw >= below_a_);
    const auto past_b = static_cast<uint64_t>(draw >= below_b_);
    const auto past_c = static_cast<uint64_t>(draw >= below_c_);
    source = (source << 1) | past_b;
    target = (target << 1) | (past_a ^ past_b ^ past_c);
  }
  return {source, target};
}

}  // namespace flowrun::operators
