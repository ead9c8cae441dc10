// Reads a known sequence of blocks ahead of its consumer (STXXL, section 4, `block_prefetcher`; Asynchronous sorting,
// section 3).
//
// The sequence σ is the order of consumption (for a merge: the blocks of all runs by their first keys). The reads are
// issued in an order that is handed in. With several disks it is the optimal one for a part of the buffers
// (prefetch_order.h): w = 2D + 3/10 (m - 2D) of them, as in Asynchronous sorting, section 5. The rest of the buffers
// smooths what the schedule doesn't know (speeds of disks, held blocks). A buffer goes free -> in flight -> ready ->
// held by the consumer -> free. Reads are issued in batches, one call of the backend each.
//
// A long sequence may be told bit by bit: the prefetcher knows what it is told beyond its consumer's place and nothing
// else, so that memory doesn't grow with the sequence. One pool of buffers serves all of it. The one who tells sees to
// it that more is told than there are buffers to fill, or reading waits for it.
//
// Progress: whenever the consumer holds fewer than num_buffers buffers, next() gets its block in the end. Should the
// schedule have filled all other buffers with later blocks, the one needed last of all is given up and read again
// later.
//
// The time from an answer `blocked` until the block is there counts as read wait of its disk.
//
// Cost per block: one transfer, one pass of XXH3 on the consumer's thread; nothing is allocated. Memory: 48 bytes for
// each block that was told and not handed out, and 8 where its place in the order was told.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/outcome.h"
#include "engine/base/waker.h"
#include "engine/block/block_manager.h"
#include "engine/block/prefetched_block.h"

namespace flowrun::block {

// What a prefetcher obeys.
struct prefetch_plan {
  // Positions in the sequence, in the order of issuing (prefetch_order.h); none: that of the sequence.
  std::vector<uint64_t> order = {};
  // Give each block back to the manager as soon as it has been handed to the consumer, verified.
  bool free_after_read = false;
};

// What must be known of a sequence that is told bit by bit.
struct sequence_extent {
  uint64_t num_blocks = 0;
  uint32_t longest_block = 0;
};

class block_prefetcher {
 public:
  using buffer = prefetched_block;

  // Starts reading. `num_buffers` > 0 counts all buffers, also those the consumer holds; each is as long as the longest
  // block. The manager outlives the prefetcher.
  block_prefetcher(block_manager& manager, const std::vector<fetch>& sequence, unsigned num_buffers,
                   const prefetch_plan& plan = {});
  // The same for a sequence that extend() tells.
  block_prefetcher(block_manager& manager, const sequence_extent& whole, unsigned num_buffers, bool free_after_read);
  // Waits for the reads in flight. Buffers that the consumer holds live on. Blocks that were not handed out stay
  // allocated.
  ~block_prefetcher();
  block_prefetcher(const block_prefetcher&) = delete;
  block_prefetcher& operator=(const block_prefetcher&) = delete;

  // Tells the next blocks, and which are to be issued next: positions in the sequence of blocks that have been told and
  // were not in the order before. An order is told with the first blocks or never. One thread at a time with next().
  void extend(std::span<const fetch> blocks, std::span<const uint64_t> order = {});

  // The next block of the sequence, which must have been told, into `out` (whose previous content is let go first).
  // blocked: `waiter` (may be null) is woken once the block may be ready. The waker must stay alive until then, until
  // the next call, or until the prefetcher dies. Throws error(io) for a failed read or a damaged block, and again on
  // every call after. One thread at a time.
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
