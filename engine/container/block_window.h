// Reads a sequence of blocks ahead of a consumer who may leave some of them out.
//
// Like block::block_prefetcher, but the consumer can skip blocks, which ends the reading ahead: it begins anew once he
// takes a second block in a row, and doubles with each further one, so that a consumer who jumps about reads nothing in
// vain and one who stays on his way has all buffers at work. One who knows where he will jump says so, and all buffers
// work for him. Blocks are asked for in the order of the sequence; neighbours of one run lie on different disks
// (randomised cycling), so the disks are busy as long as there are a few buffers for each.
//
// Buffers: free -> in flight -> ready -> held -> free. A block that was skipped while in flight is dropped when it
// arrives. The time from an answer `blocked` until the block is there counts as read wait of its disk.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "engine/base/waker.h"
#include "engine/block/block_manager.h"
#include "engine/block/block_prefetcher.h"

namespace flowrun::container {

// One thread at a time.
class block_window {
 public:
  using fetch_of = std::function<const block::fetch&(uint64_t position)>;

  // Blocks 0 … num_blocks-1, each of at most `longest_block` bytes, are those that `where` names; what it refers to
  // and the manager outlive the window. `num_buffers` >= 2 counts those that the consumer holds.
  block_window(block::block_manager& manager, fetch_of where, uint64_t num_blocks, uint32_t longest_block,
               unsigned num_buffers);
  // Waits for the reads in flight. Buffers that the consumer holds live on.
  ~block_window();
  block_window(const block_window&) = delete;
  block_window& operator=(const block_window&) = delete;

  // Begins to read, for who will ask later.
  void start();
  // The next block into `out`, verified. blocked: `w` will be woken; also while the consumer holds all buffers, then
  // when one comes back. Throws error(io) for a failed read or a damaged block, and again on every call after.
  outcome next(block::prefetched_block& out, waker& w);
  // The next block is `position`, which is not behind the reader.
  void skip_to(uint64_t position);
  // These blocks, in ascending order, are those that will be asked for next. Others may be, too, but wait for their
  // turn. Replaces what was expected before.
  void expect(std::span<const uint64_t> positions);

  uint64_t position() const;
  uint64_t num_read() const;

 private:
  struct core;
  std::shared_ptr<core> core_;
};

}  // namespace flowrun::container
