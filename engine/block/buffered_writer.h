// Write-behind of a stream of blocks: the caller fills one buffer while others are on their way to the disks
// (STXXL, section 4, `buffered_writer`; Asynchronous sorting, section 3).
//
//   caller: acquire -> fill the payload -> submit -> acquire …  -> flush -> result(ticket)
//
// A buffer goes free -> filling -> in flight -> free. Every disk has a queue and puts out its first block whenever it
// can, with all buffers shared among the disks: that is optimal queued writing (queued_writing.h). A disk that turns
// out to be full (ENOSPC when its file system can't reserve space), or that fails a write, costs a second attempt on
// another disk. That is safe as long as the block is in memory, so a block's place is final only after a flush. When no
// other disk has room, or the system is out of memory, the first error is kept and rethrown to the caller. A block may
// be shorter than its buffer (compressed): it takes no more space than it needs.
//
// Cost per block: one allocation of space, one pass of XXH3, one transfer.
//
// The time from the moment when no buffer is free until the write that frees one is over counts as write wait of that
// write's disk; a flush that has to wait counts likewise.
//
// Thread safety: one thread at a time uses a writer (which one may change); completions come from I/O threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/base/outcome.h"
#include "engine/base/waker.h"
#include "engine/block/block_format.h"
#include "engine/block/block_id.h"
#include "engine/block/block_manager.h"

namespace flowrun::block {

class buffered_writer {
 public:
  // `block_bytes`: a multiple of io_alignment. `num_buffers` >= 1, each of block_bytes, resident once used. Up to
  // `bunch_blocks` blocks on one disk are allocated side by side. The manager outlives the writer.
  buffered_writer(block_manager& manager, uint32_t block_bytes, unsigned num_buffers, unsigned bunch_blocks = 1);
  // Waits for the writes in flight (from a TBB worker: flush first). Their errors are lost. The blocks stay allocated.
  ~buffered_writer();
  buffered_writer(const buffered_writer&) = delete;
  buffered_writer& operator=(const buffered_writer&) = delete;

  uint32_t block_bytes() const;
  // What fits behind the header.
  uint32_t payload_bytes() const { return block_bytes() - static_cast<uint32_t>(block_header_bytes); }

  // A buffer of block_bytes, aligned to io_alignment, with arbitrary content: the payload goes behind the header
  // (payload_of). nullptr when all are in flight: then `waiter` (may be null) is woken once one may be free. The waker
  // must stay alive until then, until the next call, or until the writer dies. Rethrows an earlier write error.
  std::byte* try_acquire(waker* waiter);
  // The same, but blocks; never from a TBB worker.
  std::byte* acquire();
  // Gives an acquired buffer back unwritten.
  void release(std::byte* buffer) noexcept;

  // Takes a filled buffer: allocates a block (preferably on `disk`), seals it with `fields` and starts the write.
  // Returns its ticket; tickets count from 0. Throws error(resources) when there is no space; the buffer is free again
  // then.
  uint64_t submit(std::byte* buffer, unsigned disk, const block_header& fields) {
    return submit(buffer, disk, fields, block_bytes());
  }
  // The same for a block of the buffer's first `num_bytes`: a multiple of io_alignment, at most block_bytes.
  uint64_t submit(std::byte* buffer, unsigned disk, const block_header& fields, uint32_t num_bytes);

  // done: all that was submitted is written; else leaves `waiter` behind as try_acquire does. Throws the first
  // error.
  outcome try_flush(waker* waiter);
  // The same, but blocks; never from a TBB worker.
  void flush();

  // The blocks of all tickets below this are written, where they will stay; 0 once a write has failed.
  uint64_t num_written() const;
  // Where the block of `ticket` lies; final after a flush, also one that threw. The block belongs to the caller.
  // num_bytes is 0 when no disk had room for it.
  block_id result(uint64_t ticket) const;
  uint64_t num_submitted() const;
  // Forgets the results (16 bytes each) of all tickets below this; at most num_written().
  void forget_results_below(uint64_t ticket);
  // Forgets all results; tickets count from 0 again. Only after a flush.
  void forget_results();

 private:
  struct core;
  std::unique_ptr<core> core_;
};

}  // namespace flowrun::block
