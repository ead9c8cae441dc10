// The runs of a priority queue on scratch: which block is read next, and what has been read.
//
// The dynamic prediction sequence (Bulk-parallel queue, section 3): of all blocks that have no buffer yet, the one with
// the smallest first item is wanted first. New runs come at any time and change what is next.
//
//   run 1   [3 5 8] [9 …] │ 20 │ 31        loaded, then being read │ first items of the blocks that have no buffer
//   run 2   [4 6 7]       │ 12 │ 40        bound: 9, since 9 … is not there yet: items up to it may be taken
//
// Invariants: each run with blocks left has a buffer, or one can be had for it. As long as there are more buffers than
// runs, a run that has none can take one from a run that reads ahead: the one furthest ahead of all. So a caller who
// takes what is below the bound, and waits for the block at the bound, always gets on.
//
// Cost: O(runs) per block read and per call of bound().
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "engine/block/block_manager.h"
#include "engine/container/block_pool_reader.h"
#include "engine/container/queue_item.h"
#include "engine/runs/sorted_runs.h"

namespace flowrun::container {

// One thread at a time.
template <class Item>
class queue_runs {
 public:
  // `num_buffers` of block_bytes are taken once there is a run; there may be at most num_buffers - 2 runs. `packer` and
  // the manager outlive this.
  queue_runs(block::block_manager& blocks, uint32_t block_bytes, unsigned num_buffers, const item_packer<Item>& packer)
      : blocks_(blocks), block_bytes_(block_bytes), num_buffers_(num_buffers), packer_(packer) {}
  // Waits for the reads in flight; frees what was not read.
  ~queue_runs();
  queue_runs(const queue_runs&) = delete;
  queue_runs& operator=(const queue_runs&) = delete;

  // `firsts`: the first item of each block.
  void add(runs::run r, std::vector<Item> firsts);
  // Runs with something left.
  size_t num_runs() const;

  // Only the shortest runs take part from here on, until all do again: half of all and two at least, and those that are
  // no longer than the chosen ones together; so an item is in a merge O(log(runs)) times. The others, and new ones, keep
  // what they have.
  void choose_shortest();
  void choose_all();

  // Starts reading what is wanted next, as far as there are buffers.
  void read_ahead();
  // No item of a block that is not loaded is below this; nothing when all are loaded. Forgets runs that are used up, so
  // it changes their numbers.
  std::optional<Item> bound();
  // Waits for the block at the bound, of which there must be one. blocked: `w` will be woken. Throws error(io).
  outcome load_bound(waker& w);

  size_t num_slots() const { return runs_.size(); }
  // Run `r`'s front, r < num_slots(): the items of its first loaded block that are left; none when it takes no part.
  size_t num_front(size_t r) const {
    const run_state& run = runs_[r];
    return run.chosen && !run.segments.empty() && run.segments.front().loaded ? run.segments.front().num_items : 0;
  }
  Item front(size_t r, size_t i) const {
    const segment& s = runs_[r].segments.front();
    return packer_.at(reader_->payload(s.buffer), s.first + i);
  }
  // Whether the block behind the front is loaded too.
  bool goes_on(size_t r) const { return runs_[r].segments.size() > 1 && runs_[r].segments[1].loaded; }
  // Moves the first `count` items of the front to `to`.
  void take(size_t r, size_t count, Item* to);

 private:
  struct segment {
    uint32_t buffer = 0;
    uint32_t block = 0;
    uint32_t first = 0;      // item that is left
    uint32_t num_items = 0;  // that are left
    bool loaded = false;
  };
  struct run_state {
    runs::run blocks;
    std::vector<Item> firsts;
    size_t next = 0;  // the first block without a buffer, of those that are left
    std::deque<segment> segments;
    uint64_t num_items = 0;
    bool chosen = true;
  };
  void begin(run_state& run);
  outcome free_a_buffer(waker& w);
  const segment* first_not_loaded(const run_state& run) const;

  block::block_manager& blocks_;
  const uint32_t block_bytes_;
  const unsigned num_buffers_;
  const item_packer<Item>& packer_;
  std::vector<run_state> runs_;
  std::unique_ptr<block_pool_reader> reader_;
  size_t run_at_bound_ = 0;
  bool restricted_ = false;
};

extern template class queue_runs<uint32_t>;
extern template class queue_runs<uint64_t>;
extern template class queue_runs<word128>;
extern template class queue_runs<item256>;
extern template class queue_runs<item512>;

}  // namespace flowrun::container
