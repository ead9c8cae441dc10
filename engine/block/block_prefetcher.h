// Reads a known sequence of blocks ahead of its consumer (STXXL, section 4, `block_prefetcher`; Asynchronous sorting,
// section 3).
//
// The sequence σ is the order of consumption (for a merge: the blocks of all runs by their first keys). The reads are
// issued in an order that is handed in. With several disks it is the optimal one for a part of the buffers
// (prefetch_order.h): w = 2D + 3/10 (m - 2D) of them, as in Asynchronous sorting, section 5. The rest of the buffers
// smooths what the schedule doesn't know (speeds of disks, held blocks). A buffer goes free -> in flight -> ready ->
// held by the consumer -> free. Reads are issued in batches, one call of the backend each.
//
// Progress: whenever the consumer holds fewer than num_buffers buffers, next() gets its block in the end. Should the
// schedule have filled all other buffers with later blocks, the one needed last of all is given up and read again
// later.
//
// The time from an answer `blocked` until the block is there counts as read wait of its disk.
//
// Cost per block: one transfer, one pass of XXH3 on the consumer's thread; nothing is allocated.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/outcome.h"
#include "engine/base/waker.h"
#include "engine/block/block_manager.h"
#include "engine/block/prefetched_block.h"

namespace flowrun::block {

// What a prefetcher obeys.
struct prefetch_plan {
  // Positions in the sequence, in the order of issuing (prefetch_order.h); none: that of the sequence.
  std::vector<uint64_t> order;
  // Give each block back to the manager as soon as it has been handed to the consumer, verified.
  bool free_after_read = false;
};

class block_prefetcher {
 public:
  using buffer = prefetched_block;

  // Starts reading. `num_buffers` > 0 counts all buffers, also those the consumer holds; each is as long as the longest
  // block. The manager outlives the prefetcher.
  block_prefetcher(block_manager& manager, std::vector<fetch> sequence, unsigned num_buffers, prefetch_plan plan = {});
  // Waits for the reads in flight. Buffers that the consumer holds live on. Blocks that were not handed out stay
  // allocated.
  ~block_prefetcher();
  block_prefetcher(const block_prefetcher&) = delete;
  block_prefetcher& operator=(const block_prefetcher&) = delete;

  // The next block of the sequence into `out` (whose previous content is let go first). blocked: `waiter` (may be null)
  // is woken once the block may be ready. The waker must stay alive until then, until the next call, or until the
  // prefetcher dies. Throws error(io) for a failed read or a damaged block, and again on every call after. One thread
  // at a time.
  outcome next(buffer& out, waker* waiter);
  // The same, but blocks (then never from a TBB worker) until ready or done; false when done. The consumer must not
  // hold all buffers.
  bool next(buffer& out);

  uint64_t num_blocks() const;
  // Blocks handed out so far.
  uint64_t position() const;
  // Blocks that were read again because their buffer was needed for an earlier one.
  uint64_t num_given_up() const;

 private:
  struct core;
  std::shared_ptr<core> core_;
};

}  // namespace flowrun::block
