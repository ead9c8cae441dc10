// Reads blocks of scratch ahead of a consumer that may leave some of them out (io/read_window.h).
//
// Like block::block_prefetcher, but the consumer can skip blocks. Blocks are asked for in the order of the sequence;
// neighbours of one run lie on different disks (randomised cycling), so the disks are busy as long as there are a few
// buffers for each.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "engine/base/outcome.h"
#include "engine/base/waker.h"
#include "engine/block/block_manager.h"
#include "engine/block/prefetched_block.h"
#include "engine/io/read_window.h"

namespace flowrun::container {

// One thread at a time.
class block_window {
 public:
  using fetch_of = std::function<const block::fetch&(uint64_t position)>;

  // Blocks 0 … num_blocks-1, each of at most `longest_block` bytes, are those that `where` names; what it refers to
  // and the manager outlive the window. `num_buffers` >= 2 counts those that the consumer holds.
  block_window(block::block_manager& manager, fetch_of where, uint64_t num_blocks, uint32_t longest_block,
               unsigned num_buffers);

  // Begins to read, for a consumer that will ask later.
  void start() { window_.start(); }
  // The next block into `out`, verified. blocked: `w` will be woken; also while the consumer holds all buffers, then
  // when one comes back. Throws error(io) for a failed read or a damaged block, and again on every call after.
  outcome next(block::prefetched_block& out, waker& w);
  // The next block is `position`, which is not behind the reader.
  void skip_to(uint64_t position) { window_.skip_to(position); }
  // These blocks, in ascending order, are those that will be asked for next. Others may be, too, but wait for their
  // turn. Replaces what was expected before.
  void expect(std::span<const uint64_t> positions) { window_.expect(positions); }

  uint64_t position() const { return window_.position(); }
  uint64_t num_read() const { return window_.num_read(); }

 private:
  class source final : public io::piece_source {
   public:
    source(block::block_manager& manager, fetch_of where) : manager_(manager), where_(std::move(where)) {}
    void prepare(uint64_t position, io::request& read, std::byte* memory) override;
    void check(uint64_t position, io::request& read, const std::byte* memory) override;
    const block::block_header& checked() const { return checked_; }

   private:
    block::block_manager& manager_;
    const fetch_of where_;
    block::block_header checked_;  // the last one
  };
  source source_;
  io::read_window window_;
};

}  // namespace flowrun::container
