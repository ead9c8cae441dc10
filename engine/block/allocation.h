// Which disk takes the j-th block of a stream. Pure: a function of (strategy, D, seed, stream, j), the same on every
// run.
//
// The strategies of papers/001, section 4 (block management layer):
//   striping            j mod D
//   simple_randomised   (r + j) mod D, r random per stream
//   fully_randomised    a random disk per block
//   randomised_cycling  π(j mod D), π a random permutation per stream (Vitter and Hutchinson; papers/000, section 2.4)
// All but fully_randomised put any D neighbouring blocks of a stream on D different disks, so that writing a run is
// balanced. Randomised cycling is the default: the order in which a merge asks for the blocks of many runs is then at
// least as balanced as independent random disks, whatever the keys are.
#pragma once

#include <cstdint>
#include <vector>

namespace flowrun::block {

enum class allocation_strategy { striping, simple_randomised, fully_randomised, randomised_cycling };

// The disks of one stream. Immutable, so usable from any thread. Costs D words for randomised cycling, else nothing.
class disk_cycle {
 public:
  // `num_disks` > 0. Streams with different numbers get independent random choices.
  disk_cycle(allocation_strategy strategy, unsigned num_disks, uint64_t seed, uint64_t stream);

  // In [0, num_disks).
  unsigned disk_of(uint64_t block_index) const;

 private:
  allocation_strategy strategy_;
  unsigned num_disks_;
  uint64_t key_;                       // random bits of this stream
  unsigned start_ = 0;                 // simple_randomised: r
  std::vector<unsigned> permutation_;  // randomised_cycling: π
};

}  // namespace flowrun::block
