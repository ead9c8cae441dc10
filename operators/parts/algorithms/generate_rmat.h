// Random graphs with a skewed degree distribution: R-MAT (Chakrabarti, Zhan, Faloutsos, "R-MAT: a recursive model for
// graph mining", SDM 2004), as in the Graph500 benchmark, without its shuffling of the nodes' numbers.
//
// An edge falls into one cell of the 2^scale x 2^scale adjacency matrix: at each of the scale levels it goes to one of
// the four quadrants with the probabilities a, b, c and 1 - a - b - c. Edge i depends on the seed and i only.
#pragma once

#include <cstdint>
#include <utility>

namespace flowrun::operators {

class rmat_generator {
 public:
  static constexpr unsigned max_scale = 48;
  // 1 <= scale <= max_scale; a, b, c >= 0 and a + b + c <= 1.
  rmat_generator(unsigned scale, double a, double b, double c, uint64_t seed);
  // (source, target) of edge i. Thread-safe.
  std::pair<uint64_t, uint64_t> edge(uint64_t i) const;

 private:
  unsigned scale_;
  uint64_t seed_;
  uint64_t below_a_, below_b_, below_c_;  // cumulated probabilities times 2^32
};

}  // namespace flowrun::operators
