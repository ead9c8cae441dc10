// An external priority queue: a sequence heap (STXXL, section 5.4; Sanders 2000) whose buffers are sorted, not
// merged, with the bulk and limit interfaces of Bulk-parallel queue.
//
//   push ─┬─ below the splitter ─▶ near heap ───────────────────────────────────────┐
//         └─ others ─▶ insertion buffer ──full: sorted beside──▶ sequences in memory │   ┌─▶ top, pop
//                          │                      └── no room ──▶ runs on scratch    │   │
//                          └── items up to the next splitter ──┐         │           ▼   │
//                                 slice below a common splitter┴─ sorted ─▶ deletion buffer
//
// Invariants: what lies in the deletion buffer is sorted and not above the splitter, which is its last item; all items
// elsewhere, but for the near heap, are not below it. So a push compares with one number and, unless it is about to be
// popped again, is appended to a buffer: 1-2 ns. When the deletion buffer and the near heap are empty, refill() takes
// the next slice: what lies below a common splitter in each sequence, in each run as far as it is loaded, and in the
// insertion buffer. That is concatenated and sorted by SIMD in the cache, which beats merging by comparisons
// (sort/slice_merger.h). The splitter never passes the first item of a block that is not there yet (queue_runs.h), nor
// the least item of a buffer that is being sorted or written (queue_input.h).
//
// Slices are cut ahead: one or two more from the sequences and runs, sorted beside the caller while it uses up the one
// before. The first of them then is one more sequence, which nothing but newer items interferes with; those few are
// merged into it.
//
// A near heap that overflows goes back, with all but the front of the deletion buffer, to the insertion buffer; slices
// get shorter then, and longer again while they are used up.
//
// Memory (settings::memory_bytes is a hard bound): insertion buffers 1/16, blocks being read 1/4, a few slices and
// write buffers a few percent, the rest for sequences. A sorted buffer that finds no room there becomes a run by
// itself. Once half as many runs as can be read at once have come about, everything in memory is merged into one run
// instead. When there are more runs than can be read at once, the shortest ones are merged (the merge groups of the
// sequence heap, by length).
//
// Cost per item: sorted twice in pieces that fit the caches, moved four times; written and read once for every level of
// runs. No thread waits inside: a caller who would have to is told `blocked`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/background_work.h"
#include "engine/base/buffer.h"
#include "engine/base/resumable.h"
#include "engine/base/waker.h"
#include "engine/block/block_manager.h"
#include "engine/container/queue_input.h"
#include "engine/container/queue_item.h"
#include "engine/container/queue_runs.h"
#include "engine/kernels/word_store.h"

namespace flowrun::container {

struct priority_queue_settings {
  block::block_manager* blocks = nullptr;  // outlives the queue
  task_poster post = {};                   // runs sorting and writing beside the caller
  uint64_t memory_bytes = 0;
  uint32_t item_bytes = 0;   // of items of at most 16 bytes: the low bytes in use; 0: all
  uint32_t block_bytes = 0;  // at most, a power of two >= 4096; 0: chosen
  bool force_spill = false;  // no sequences in memory
};

// How the memory is divided. Pure.
struct queue_memory {
  uint32_t block_bytes = 0;
  unsigned read_buffers = 0;
  unsigned write_buffers = 0;
  size_t buffer_items = 0;  // of each of the insertion buffers
  size_t slice_items = 0;   // the longest slice
  size_t near_items = 0;
  size_t num_store_blocks = 0;
  size_t store_block_items = 0;

  // Runs that may exist.
  size_t fan_in() const { return read_buffers - std::max(2U, read_buffers / 8); }
  // Sequences in memory beyond which short ones are put together, and beyond which there are no more.
  size_t many_sequences() const { return std::min<size_t>(slice_items / 4, 192); }
  size_t most_sequences() const { return slice_items / 2; }
  // With what may come on top: a deletion buffer that goes back, and pushes that were promised.
  size_t insertion_items() const { return buffer_items + deletion_items() + 2 * near_items; }
  size_t deletion_items() const { return 3 * slice_items + near_items; }
};
queue_memory divide_queue_memory(const priority_queue_settings& settings, size_t sizeof_item, unsigned num_disks,
                                 unsigned queue_depth);

struct queue_counters {
  uint64_t runs = 0;           // written, also by merges
  uint64_t merges = 0;         // of runs, or of all that was in memory
  uint64_t spilled_bytes = 0;  // written to scratch
};

// Item: uint32_t, uint64_t, record::word128, item256 or item512. Smallest first; equal items are identical. One thread
// at a time.
template <class Item>
class priority_queue {
 public:
  explicit priority_queue(priority_queue_settings settings);
  // Waits for the transfers in flight.
  ~priority_queue();
  priority_queue(const priority_queue&) = delete;
  priority_queue& operator=(const priority_queue&) = delete;

  uint64_t num_items() const { return num_elsewhere_ + num_filled_ + (end_ - head_) + near_.size(); }
  bool empty() const { return num_items() == 0; }

  // --- one by one ---
  // Pushes that are possible before make_room() must be called.
  size_t room() const { return num_filled_ < memory_.buffer_items ? memory_.buffer_items - num_filled_ : 0; }
  // ready: room() >= num_items, which is at most max_room(). blocked: `w` will be woken. Throws error(io),
  // error(resources) when scratch is full.
  outcome make_room(size_t num_items, waker& w) {
    return room() >= num_items ? outcome::ready() : make_room_slowly(num_items, w);
  }
  size_t max_room() const { return memory_.buffer_items; }
  // Needs room.
  void push(const Item& item) {
    if (item < splitter_) [[unlikely]]
      return push_near(item);
    fill_[num_filled_++] = item;
  }
  // ready: there is a top. blocked: `w` will be woken. done: the queue is empty. Throws error(io).
  outcome refill(waker& w) { return has_top() ? outcome::ready() : refill_slowly(w); }
  // No refill is needed. Pushes may make one unnecessary, never necessary.
  bool has_top() const { return head_ != end_ || !near_.empty(); }
  // Only with has_top().
  const Item& top() const { return near_is_first() ? near_.front() : deletion_[head_]; }
  void pop() {
    if (near_is_first()) [[unlikely]]
      return pop_near();
    ++head_;
  }

  // --- a few ---
  // Neither how many there are nor where they end is a branch to be predicted, as long as it is less than few_items.
  static constexpr size_t few_items = 4;
  // Pops what is at the front and holds for `is_wanted`, as far as there is a top without a refill; returns how many.
  // Items for which it doesn't hold lie behind those for which it does.
  template <class IsWanted>
  size_t pop_while(IsWanted is_wanted);
  // As push() for each. Items up to the next multiple of few_items are read as well; they may be anything.
  void push_few(const Item* items, size_t num_items);

  // --- in bulk ---
  // Pushes items off the front of `items`, as many as there is room for.
  void push_bulk(std::span<const Item>& items);
  // Pops up to `to.size()` items that are less than `limit` (null: all), in order; returns how many: as many as there
  // are without a refill.
  size_t pop_bulk(std::span<Item> to, const Item* limit = nullptr);

  const queue_counters& counters() const { return counters_; }

 private:
  using sequence = typename kernels::word_store<Item>::sequence;
  struct merge_state;

  bool near_is_first() const { return !near_.empty() && (head_ == end_ || near_.front() < deletion_[head_]); }
  void push_near(const Item& item);
  void pop_near();
  void spread_near();
  outcome make_room_slowly(size_t num_items, waker& w);
  outcome refill_slowly(waker& w);

  void take_finished();
  bool fits_in_store(size_t num_items) const;
  outcome hand_over(waker& w);
  void gather_short_sequences(waker& w);
  void begin_merge(bool of_runs);
  outcome advance_merge(waker& w);

  // Which of runs, sequences, slices cut ahead and new items a slice is taken from.
  struct slice_parts {
    bool runs = true, memory = true, ahead = true, input = true;
  };
  struct slice {
    size_t num_items = 0;
    size_t num_new = 0;         // of them from the insertion buffer: the first ones
    bool others_sorted = true;  // those behind them
  };
  enum class cut { taken, blocked, too_much_new, nothing };
  // About `wanted` items of the next slice to `to`. Null: `blocked` without a wake.
  cut cut_slice(size_t wanted, const slice_parts& parts, Item* to, slice& out, waker* w);
  // To `to`, which has room for the slice once more.
  static void put_in_order(Item* items, const slice& s);
  // Slices that come next.
  void cut_ahead();
  // Something to take.
  enum class source_kind : uint8_t { sequence, run, ahead };
  struct slice_source {
    Item first;
    uint32_t index;
    source_kind kind;
  };
  void find_sources(const slice_parts& parts);
  // Lowers the splitter so that at most `stride` items of the source are not above it.
  void bound_by(const slice_source& s, size_t stride, Item& splitter) const;
  size_t take_up_to(const slice_source& s, size_t stride, const Item& splitter, Item* to);
  // The least item of the insertion buffer; only with items.
  Item least_new();
  // Looks at the chunks that have filled up.
  void look_at_chunks();
  void forget_chunks() { num_chunks_ = 0; }
  // The items of the insertion buffer that are not above the splitter, unless they are too many for a slice.
  bool take_new_up_to(const Item& splitter, Item* to, size_t& num_taken);

  const priority_queue_settings settings_;
  const queue_memory memory_;
  const item_packer<Item> packer_;
  queue_counters counters_;

  // Insertion.
  Item splitter_{};
  Item* fill_ = nullptr;
  size_t num_filled_ = 0;
  size_t scanned_ = 0;  // items looked at for slices since the buffer was empty
  // The least items of the first chunks that have been looked at, so that a slice looks only at chunks that it takes
  // from; and the least of those.
  std::vector<Item> chunk_least_;
  size_t num_chunks_ = 0;
  Item least_in_chunks_{};
  std::vector<Item> near_;  // a heap, smallest first

  // Deletion: deletion_[head_ … end_) is left.
  aligned_buffer deletion_memory_;
  Item* deletion_ = nullptr;
  size_t head_ = 0, end_ = 0;
  size_t slice_now_ = 0;  // items that the next slice shall have
  bool spread_ = false;   // the current slice went back before it was used up

  // Slices cut ahead: ahead_[first_ahead_] comes next, then the other one. None of them ends above items that were in
  // sequences and runs when it was cut; so another one is cut only while no new ones have come.
  struct slice_ahead {
    explicit slice_ahead(const task_poster& post) : sorter(post) {}
    aligned_buffer memory;
    size_t first = 0, num_items = 0;  // what is left
    background_work sorter;
    Item* items() { return reinterpret_cast<Item*>(memory.data()) + first; }
  };
  std::vector<std::unique_ptr<slice_ahead>> ahead_;
  size_t first_ahead_ = 0;
  bool new_since_ahead_ = false;  // sequences or runs
  slice_ahead& next_ahead() { return *ahead_[first_ahead_]; }

  // Everything else.
  uint64_t num_elsewhere_ = 0;
  kernels::word_store<Item> store_;
  std::vector<sequence> sequences_;
  queue_runs<Item> runs_;
  queue_input<Item> input_;
  std::unique_ptr<merge_state> merge_;
  std::vector<slice_source> sources_;
};

template <class Item>
template <class IsWanted>
size_t priority_queue<Item>::pop_while(IsWanted is_wanted) {
  size_t num_popped = 0;
  while (near_.empty() && end_ - head_ >= few_items) {
    size_t count = 0;
    for (size_t i = 0; i < few_items; ++i) count += is_wanted(deletion_[head_ + i]) ? 1 : 0;
    head_ += count;
    num_popped += count;
    if (count < few_items) return num_popped;
  }
  for (; has_top() && is_wanted(top()); ++num_popped) pop();
  return num_popped;
}

template <class Item>
void priority_queue<Item>::push_few(const Item* items, size_t num_items) {
  // There is room behind the buffer for more than few_items.
  for (size_t i = 0; i < num_items; i += few_items) {
    const size_t count = std::min(num_items - i, few_items);
    size_t num_near = 0;
    for (size_t k = 0; k < few_items; ++k) {
      num_near += items[i + k] < splitter_ ? 1 : 0;
      fill_[num_filled_ + k] = items[i + k];
    }
    if (num_near == 0) [[likely]]
      num_filled_ += count;
    else
      for (size_t k = 0; k < count; ++k) push(items[i + k]);
  }
}

extern template class priority_queue<uint32_t>;
extern template class priority_queue<uint64_t>;
extern template class priority_queue<word128>;
extern template class priority_queue<item256>;
extern template class priority_queue<item512>;

}  // namespace flowrun::container
