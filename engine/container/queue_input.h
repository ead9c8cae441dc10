// The insertion buffers of a priority queue: one fills, the others are sorted, and written if they shall be, beside
// their owner.
//
//   filling ──hand_over──▶ sorting ──▶ sorted ──▶ (take_finished: into memory) ─────────────▶ free
//                             └──────▶ waiting for the writer ──▶ written ──▶ (take_finished: a run) ──▶ free
//
// Buffers are sorted at the same time, each by one task. They are written one after the other, each as a run of its own
// (Bulk-parallel queue, section 3: insertion heaps are sorted in parallel, and become external arrays).
//
// Until its items are back in sorted form, a buffer's least item bounds what may leave the queue.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/background_work.h"
#include "engine/base/buffer.h"
#include "engine/base/mutex.h"
#include "engine/base/resumable.h"
#include "engine/container/queue_item.h"
#include "engine/runs/run_writer.h"
#include "engine/runs/word_writer.h"

namespace flowrun::container {

// Sorted items on their way into the blocks of one run.
template <class Item>
class run_output {
 public:
  run_output(runs::run_writer& writer, const item_packer<Item>& packer)
      : writer_(writer), items_(writer, packer, &firsts_) {
    writer.begin_run();
  }
  run_output(const run_output&) = delete;
  run_output& operator=(const run_output&) = delete;

  // Takes items off the front as far as there are buffers. blocked: `w` will be woken once there is one.
  outcome append(std::span<const Item>& items, waker& w) { return items_.append(items, w); }
  // done: the run is on the disks.
  outcome finish(waker& w) {
    items_.end_block();
    return writer_.flush(&w);
  }
  runs::run take_run() { return std::move(writer_.take().front()); }
  std::vector<Item> take_firsts() { return std::move(firsts_); }

 private:
  runs::run_writer& writer_;
  std::vector<Item> firsts_;
  runs::word_writer<Item, item_packer<Item>> items_;
};

// One thread at a time.
template <class Item>
class queue_input {
 public:
  struct settings {
    block::block_manager* blocks = nullptr;
    task_poster post;
    unsigned num_buffers = 4;
    size_t buffer_items = 0;  // each
    uint32_t block_bytes = 0;
    unsigned write_buffers = 2;
  };
  // `packer` and what the settings point to outlive this.
  queue_input(const settings& s, const item_packer<Item>& packer);
  // Waits for a step of the work that is going on.
  ~queue_input() { shutdown(); }
  queue_input(const queue_input&) = delete;
  queue_input& operator=(const queue_input&) = delete;

  // The buffer that fills, of buffer_items.
  Item* filling() { return buffers_[filling_]->items(); }
  // Gives the first `num_items` > 0 of it away, of which `least` is the least, and another one fills. blocked,
  // and nothing has changed, when all others are away: `w` will be woken when one has finished, at once if one has.
  outcome hand_over(size_t num_items, const Item& least, bool write, waker& w);
  // Whether hand_over would find a free buffer.
  bool has_free() const;

  // A buffer that has finished, into one of the two: sorted items, to be copied before the next call; or a run. False
  // when there is none. Throws what the work threw.
  struct finished {
    std::span<const Item> sorted;
    std::optional<runs::run> run;
    std::vector<Item> firsts;
  };
  bool take_finished(finished& out);
  // Wakes `w` when another buffer has finished; at once if one has.
  void wake_when_finished(waker& w);

  // Items that are away, and the least of them.
  std::optional<Item> least_away() const;
  size_t num_to_write() const;   // buffers away that will become runs
  size_t items_to_keep() const;  // of buffers away that will not

 private:
  enum class state : uint8_t { free, filling, away, sorted, written };
  struct buffer {
    explicit buffer(const task_poster& post) : sorter(post) {}
    Item* items() { return reinterpret_cast<Item*>(memory.data()); }
    aligned_buffer memory;
    state now = state::free;  // guarded by the owner's mutex
    size_t num_items = 0;
    bool write = false;
    Item least{};
    std::optional<run_output<Item>> output;
    std::optional<runs::run> run;
    std::vector<Item> firsts;
    background_work sorter;
  };
  void shutdown();
  void sort(buffer& b);
  outcome write(buffer& b, std::span<const Item>& left, waker& w);
  void wait(waker& w) FLOWRUN_REQUIRES(mutex_);
  void end(buffer& b, state reached, std::exception_ptr failure = nullptr);

  const settings settings_;
  const item_packer<Item>& packer_;
  std::vector<std::unique_ptr<buffer>> buffers_;
  size_t filling_ = 0;
  std::optional<size_t> handed_out_;  // its sorted items are with the owner

  background_work writer_work_;
  std::optional<runs::run_writer> writer_;  // made by the first buffer that is written; dies before what waits for it

  mutable mutex mutex_;
  std::exception_ptr failure_ FLOWRUN_GUARDED_BY(mutex_);
  waker* waiter_ FLOWRUN_GUARDED_BY(mutex_) = nullptr;
};

extern template class queue_input<uint32_t>;
extern template class queue_input<uint64_t>;
extern template class queue_input<word128>;
extern template class queue_input<item256>;
extern template class queue_input<item512>;

}  // namespace flowrun::container
