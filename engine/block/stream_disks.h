// Which disk takes the next block of a stream, while the disks' shares may change: a disk turns out to be slow, gets
// full, fails.
//
// The cycle of a stream (allocation.h) is a function of the shares; they are looked at again every refresh_blocks
// blocks, which costs a lock per disk. With equal disks nothing ever changes, and the disks are those of the strategy.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/block/allocation.h"
#include "engine/block/block_manager.h"

namespace flowrun::block {

// One thread at a time. The manager outlives it.
class stream_disks {
 public:
  static constexpr uint64_t refresh_blocks = 32;

  stream_disks(const block_manager& manager, uint64_t stream)
      : manager_(manager), stream_(stream), weights_(manager.weights()), cycle_(cycle()) {}

  // The disk of the next block.
  unsigned next() {
    if (num_blocks_ > 0 && num_blocks_ % refresh_blocks == 0) refresh();
    return cycle_.disk_of(num_blocks_++);
  }

 private:
  disk_cycle cycle() const {
    const manager_options& options = manager_.options();
    return disk_cycle(options.strategy, weights_, options.seed, stream_);
  }
  void refresh() {
    if (manager_.num_disks() == 1) return;
    std::vector<double> now = manager_.weights();
    if (now == weights_) return;
    weights_ = std::move(now);
    cycle_ = cycle();
  }

  const block_manager& manager_;
  const uint64_t stream_;
  std::vector<double> weights_;
  disk_cycle cycle_;
  uint64_t num_blocks_ = 0;
};

}  // namespace flowrun::block
