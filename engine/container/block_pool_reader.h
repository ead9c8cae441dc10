// Reads single blocks into a pool of buffers, in the order in which its owner asks for them.
//
// A prefetcher (block/block_prefetcher.h) is told all blocks at once. A priority queue gets new runs while it reads the
// old ones, so what is wanted next changes as it goes (Bulk-parallel queue, section 3: the dynamic prediction
// sequence); the owner decides, block by block (queue_runs.h).
//
//   free ──begin──▶ begun ──submit──▶ in flight ──▶ ready ──release──▶ free
//
// Nothing is allocated per block. The time from an answer `blocked` of ready() until the block is there counts as read
// wait of its disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/base/outcome.h"
#include "engine/base/waker.h"
#include "engine/block/block_manager.h"
#include "engine/block/prefetched_block.h"

namespace flowrun::container {

// One thread at a time; completions come from I/O threads.
class block_pool_reader {
 public:
  // The manager outlives the reader.
  block_pool_reader(block::block_manager& manager, uint32_t block_bytes, unsigned num_buffers);
  // Waits for the reads in flight.
  ~block_pool_reader();
  block_pool_reader(const block_pool_reader&) = delete;
  block_pool_reader& operator=(const block_pool_reader&) = delete;

  size_t num_free() const;
  // Gives a free buffer, of which there must be one, to a block; returns the buffer's number.
  uint32_t begin(const block::fetch& what);
  // Starts the reads begun since the last call.
  void submit();
  // ready: the block is there, intact; else `w`, if not null, is woken when it may be. Throws error(io).
  outcome ready(uint32_t buffer, waker* w);
  // The payload of a block that is there.
  const std::byte* payload(uint32_t buffer) const;
  // Frees the buffer of a block that is there. The block may be read again.
  void release(uint32_t buffer);

 private:
  class core;
  std::shared_ptr<core> core_;
};

}  // namespace flowrun::container
