// In which order a prefetcher issues the reads of a sequence of blocks. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/block/prefetched_block.h"

namespace flowrun::block {

enum class fetch_order : uint8_t {
  optimal,    // the shortest schedule for the disks (prefetch_schedule.h)
  predicted,  // the order of consumption itself: for comparison
};

struct prefetch_options {
  fetch_order order = fetch_order::optimal;
  // Buffers for which the optimal schedule is made, out of all; the others overlap reading with computation. 0: the
  // split of Asynchronous sorting, section 5 (buffer_split.h).
  unsigned scheduled_buffers = 0;
};

// Positions in `sequence`, in the order of issuing; none: the order of the sequence itself. `weights` are those of the
// disks (block_manager::weights()), `num_buffers` counts all buffers.
std::vector<uint64_t> prefetch_order(std::span<const fetch> sequence, std::span<const double> weights,
                                     uint64_t num_buffers, const prefetch_options& options = {});

}  // namespace flowrun::block
