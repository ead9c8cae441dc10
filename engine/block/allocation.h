// Which disk takes the j-th block of a stream. Pure: a function of (strategy, weights, seed, stream, j), the same on
// every run.
//
// The strategies of STXXL, section 4 (block management layer), for D disks alike:
//   striping            j mod D
//   simple_randomised   (r + j) mod D, r random per stream
//   fully_randomised    a random disk per block
//   randomised_cycling  π(j mod D), π a random permutation per stream (Vitter and Hutchinson; Asynchronous sorting,
//   section 2.4)
// All but fully_randomised put any D neighbouring blocks of a stream on D different disks, so that writing a run is
// balanced. Randomised cycling is the default: the order in which a merge asks for the blocks of many runs is then at
// least as balanced as independent random disks, for any keys.
//
// Disks of unequal weight (bandwidth) share a cycle of W >= D slots instead, and all goes modulo W. Disk d gets c_d of
// the slots: c_d / W is as near its share of the weights as a short cycle allows (cycle_slots). The slots of a disk are
// spread evenly, slot i of disk d at (i + u_d) / c_d of the way round:
//   striping, simple_randomised     u_d = 1/2
//   fully_randomised                a random slot per block
//   randomised_cycling              u_d random per stream, then the whole turned by a random number of slots: every
//                                   block is on disk d with probability c_d / W, and with all c_d = 1 this is a random
//                                   permutation
// But for fully_randomised, any W neighbouring blocks put exactly c_d on disk d, and any k put k c_d / W there,
// give or take 1 + (D - 2) c_d / W.
//
//   weights 100 100 50 50:  c = 2 2 1 1, striped as 0 1 2 3 0 1 | 0 1 2 3 0 1 | …
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flowrun::block {

enum class allocation_strategy { striping, simple_randomised, fully_randomised, randomised_cycling };

// c_d for each disk: how many slots of a cycle it gets. Weights are finite, none below 0, at least one above; only
// their ratios matter, and weight 0 leaves a disk out. Of the numbers of slots up to max(64, 16 D), the first is taken
// with which the busiest disk gets at most 1 % more than its share, or else the best one. With D disks of weight > 0
// the busiest disk never gets more than 1/16 more. That is also the most by which everything takes longer than with the
// exact shares. A disk whose share is below 1/16 may get none, where that comes out as even. O(D · max(64, 16 D)).
std::vector<unsigned> cycle_slots(std::span<const double> weights);

// The disks of one stream. Immutable, so usable from any thread. Costs four bytes a slot.
class disk_cycle {
 public:
  // `num_disks` > 0 disks alike. Streams with different numbers get independent random choices.
  disk_cycle(allocation_strategy strategy, unsigned num_disks, uint64_t seed, uint64_t stream);
  // Disks with these weights (see cycle_slots); equal ones choose exactly as above.
  disk_cycle(allocation_strategy strategy, std::span<const double> weights, uint64_t seed, uint64_t stream);

  // In [0, D).
  unsigned disk_of(uint64_t block_index) const;

 private:
  disk_cycle(allocation_strategy strategy, const std::vector<unsigned>& slots, uint64_t seed, uint64_t stream);

  bool per_block_;               // fully_randomised: a random slot per block, else they go round
  uint64_t key_;                 // random bits of this stream
  std::vector<unsigned> cycle_;  // the disk of each slot
};

}  // namespace flowrun::block
