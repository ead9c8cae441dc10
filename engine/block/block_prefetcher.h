// Reads a known sequence of blocks ahead of its consumer (papers/001, section 4, `block_prefetcher`; papers/000,
// section 3).
//
// The sequence σ is the order of consumption (for a merge: the blocks of all runs by their first keys). With several
// disks the reads are issued in the optimal order for a part of the buffers (prefetch_schedule.h), w = 2D + 3/10 (m -
// 2D) as in papers/000, section 5; the rest of the buffers smooths what the schedule doesn't know (speeds of disks,
// held blocks). A buffer goes free -> in flight -> ready -> held by the consumer -> free. Reads are issued in batches,
// one call of the backend each.
//
// Progress: whenever the consumer holds fewer than num_buffers buffers, next() gets its block in the end. Should the
// schedule have filled all other buffers with later blocks, the one needed last of all is given up and read again
// later.
//
// The time from an answer `blocked` until the block is there counts as read wait of its disk.
//
// Cost per block: one transfer, one pass of XXH3 on the consumer's thread; nothing is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/base/outcome.h"
#include "engine/base/waker.h"
#include "engine/block/block_format.h"
#include "engine/block/block_id.h"
#include "engine/block/block_manager.h"

namespace flowrun::block {

// A block to read, and what it must turn out to be (block_format.h).
struct fetch {
  block_id id;
  uint64_t stream = 0;
  uint64_t index = 0;
  uint64_t generation = 0;
};

enum class fetch_order : uint8_t {
  optimal,    // the shortest schedule for the disks (prefetch_schedule.h)
  predicted,  // the order of consumption itself: for comparison
};

struct prefetch_options {
  fetch_order order = fetch_order::optimal;
  // Buffers for which the optimal schedule is made, out of all; the others overlap reading with computation. 0: the
  // split of papers/000, section 5 (buffer_split.h).
  unsigned scheduled_buffers = 0;
  // Give each block back to the manager as soon as it has been handed to the consumer, verified.
  bool free_after_read = false;
};

// A block in memory. Gives its buffer back to the prefetcher when the last owner lets go, on any thread, also after the
// prefetcher is gone. Movable.
class prefetched_block {
 public:
  prefetched_block() = default;
  // What a reader has made of a stored block: `lease` keeps `data` alive, header.block_bytes of it.
  prefetched_block(std::shared_ptr<const void> lease, std::byte* data, const block_header& header)
      : lease_(std::move(lease)), data_(data), header_(header) {}

  explicit operator bool() const { return lease_ != nullptr; }
  // The whole block, header included; num_bytes of it. The payload may be changed in place by a single owner.
  std::byte* data() const { return data_; }
  uint32_t num_bytes() const { return header_.block_bytes; }
  std::byte* payload() const { return payload_of(data_); }
  uint32_t payload_bytes() const { return num_bytes() - static_cast<uint32_t>(block_header_bytes); }
  const block_header& header() const { return header_; }
  // Keeps the buffer alive, for whoever refers to its bytes.
  const std::shared_ptr<const void>& owner() const { return lease_; }
  void reset() { *this = {}; }

  prefetched_block(prefetched_block&& other) noexcept = default;
  prefetched_block& operator=(prefetched_block&& other) noexcept = default;

 private:
  friend class block_prefetcher;
  std::shared_ptr<const void> lease_;
  std::byte* data_ = nullptr;
  block_header header_;
};

class block_prefetcher {
 public:
  using buffer = prefetched_block;

  // Starts reading. `num_buffers` > 0 counts all buffers, also those the consumer holds; each is as long as the longest
  // block. The manager outlives the prefetcher.
  block_prefetcher(block_manager& manager, std::vector<fetch> sequence, unsigned num_buffers,
                   prefetch_options options = {});
  // Waits for the reads in flight. Buffers that the consumer holds live on. Blocks that were not handed out stay
  // allocated.
  ~block_prefetcher();
  block_prefetcher(const block_prefetcher&) = delete;
  block_prefetcher& operator=(const block_prefetcher&) = delete;

  // The next block of the sequence into `out` (whose previous content is let go first). blocked: `waiter` (may be null)
  // is woken once it may be ready; it must stay alive until then, until the next call, or until the prefetcher dies.
  // Throws error(io) for a failed read or a damaged block, and again on every call after. One thread at a time.
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
