// Disk allocation strategies; see allocation.h.
#include "engine/block/allocation.h"

#include <numeric>
#include <utility>

#include "engine/base/error.h"

namespace flowrun::block {

namespace {

// The finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection that spreads every bit.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Random bits to a number below `bound` by multiplication; the bias is below bound / 2^32.
unsigned below(uint64_t bits, unsigned bound) { return static_cast<unsigned>(((bits >> 32) * bound) >> 32); }

}  // namespace

disk_cycle::disk_cycle(allocation_strategy strategy, unsigned num_disks, uint64_t seed, uint64_t stream)
    : strategy_(strategy), num_disks_(num_disks), key_(mix(mix(seed) ^ stream)) {
  FLOWRUN_CHECK(num_disks > 0);
  if (strategy == allocation_strategy::simple_randomised) start_ = below(mix(key_), num_disks);
  if (strategy == allocation_strategy::randomised_cycling) {
    permutation_.resize(num_disks);
    std::iota(permutation_.begin(), permutation_.end(), 0u);
    uint64_t bits = key_;
    for (unsigned i = num_disks; i > 1; --i) {  // Fisher and Yates
      bits = mix(bits);
      std::swap(permutation_[i - 1], permutation_[below(bits, i)]);
    }
  }
}

unsigned disk_cycle::disk_of(uint64_t block_index) const {
  switch (strategy_) {
    case allocation_strategy::striping: return static_cast<unsigned>(block_index % num_disks_);
    case allocation_strategy::simple_randomised:
      return static_cast<unsigned>((start_ + block_index % num_disks_) % num_disks_);
    case allocation_strategy::fully_randomised: return below(mix(key_ ^ mix(block_index)), num_disks_);
    case allocation_strategy::randomised_cycling: return permutation_[block_index % num_disks_];
  }
  internal_error("unknown allocation strategy");
}

}  // namespace flowrun::block
