// In which order a prefetcher issues the reads of a sequence of blocks. Pure.
//
// Of a long sequence σ the order is decided piece by piece (order_in_pieces), so that nobody has to know all of it:
//
//   σ   … read │ issued: decided before │ to be decided now │ seen │ not known yet
//                                       └──── one schedule ─────┘
//
// The schedule looks further than what is decided of it: what is decided is its first part, up to the last block of
// the piece. It may have fetched a few blocks early by then that were only to be seen. The next schedule is told that
// these have their buffers already. So no disk rests where two pieces meet, and the order is as safe as that of the
// whole sequence: when a block is issued, fewer blocks behind it have been issued than there are buffers.
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

// The same for a sequence that gets known from its beginning to its end.
class order_in_pieces {
 public:
  order_in_pieces(std::span<const double> weights, uint64_t num_buffers, const prefetch_options& options);

  // It is that of the sequence itself; else extend() says what it is.
  bool is_that_of_sequence() const { return scheduled_ == 0; }
  // So many blocks behind those to be decided should be known.
  uint64_t num_seen() const { return 8 * scheduled_; }
  // The next blocks are on these disks. Positions in the sequence, in the order of issuing, behind those before: all
  // blocks but the last num_seen() known ones, and of these some; with `is_last`, where no more blocks come, all.
  std::vector<uint64_t> extend(std::span<const uint32_t> disks, bool is_last);
  // All blocks before this are in what extend() has given.
  uint64_t num_decided() const { return num_decided_; }

 private:
  const uint64_t scheduled_;           // buffers; 0: no schedule
  const std::vector<uint64_t> ticks_;  // of the disks, where there is one
  uint64_t num_decided_ = 0;
  std::vector<uint32_t> disks_;  // of the blocks behind them that are known; no_disk: decided too
};

}  // namespace flowrun::block
