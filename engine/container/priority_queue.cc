#include "engine/container/priority_queue.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/kernels/slice_cut.h"
#include "engine/sizes/buffer_split.h"

namespace flowrun::container {

namespace {

constexpr unsigned num_insertion_buffers = 4;
constexpr uint64_t longest_slice_bytes = 512 * KiB;  // sorted in the L2 cache
constexpr size_t num_slices_ahead = 2;
constexpr size_t worth_posting = 4096;  // items that are sorted beside the caller
constexpr size_t most_near = 1024;
constexpr size_t chunk_items = 64;  // of the insertion buffer, looked at together
constexpr size_t most_scans = 8;    // of the insertion buffer for slices, before sorting it is cheaper

struct later {
  template <class Item>
  bool operator()(const Item& a, const Item& b) const {
    return b < a;
  }
};

// The least of at least one item.
template <class Item>
Item least_of(const Item* items, size_t num_items) {
  // Four at once, since each comparison waits for the one before.
  Item least[4] = {items[0], items[0], items[0], items[0]};
  size_t i = 0;
  for (; i + 4 <= num_items; i += 4)
    for (size_t k = 0; k < 4; ++k) least[k] = std::min(least[k], items[i + k]);
  for (; i < num_items; ++i) least[0] = std::min(least[0], items[i]);
  return std::min(std::min(least[0], least[1]), std::min(least[2], least[3]));
}

}  // namespace

queue_memory divide_queue_memory(const priority_queue_settings& settings, size_t sizeof_item, unsigned num_disks,
                                 unsigned queue_depth) {
  const uint64_t all = std::max<uint64_t>(settings.memory_bytes, 64 * KiB);
  queue_memory m;
  // Ten buffers are the least, so that longer blocks than a 32nd would fill the memory, whatever is asked for.
  m.block_bytes = static_cast<uint32_t>(
      settings.block_bytes > 0
          ? std::min<uint64_t>(settings.block_bytes, std::max<uint64_t>(std::bit_floor(all / 32), 4 * KiB))
          : std::clamp<uint64_t>(std::bit_floor(all / 512), 4 * KiB, 256 * KiB));
  m.read_buffers = static_cast<unsigned>(std::clamp<uint64_t>(all / 4 / m.block_bytes, 6, 4096));
  m.write_buffers = static_cast<unsigned>(
      std::clamp<uint64_t>(all / 32 / m.block_bytes, 2, sizes::unhindered_write_buffers(num_disks, queue_depth)));
  m.buffer_items = std::max<size_t>(all / 16 / num_insertion_buffers / sizeof_item, 64);
  m.slice_items = std::max<size_t>(std::min<uint64_t>(m.buffer_items / 4, longest_slice_bytes / sizeof_item), 64);
  m.near_items = std::clamp<size_t>(m.buffer_items / 8, 16, most_near);
  m.store_block_items = std::clamp<size_t>(std::bit_floor(m.buffer_items / 64), 16, 4096);
  // All runs and sequences must have something in a slice.
  m.read_buffers = static_cast<unsigned>(std::min<size_t>(m.read_buffers, m.slice_items / 2));
  const uint64_t items =
      num_insertion_buffers * m.insertion_items() + m.deletion_items() + (num_slices_ahead + 2) * m.slice_items;
  const uint64_t taken = items * sizeof_item + (uint64_t{m.read_buffers} + 2 * m.write_buffers) * m.block_bytes;
  if (!settings.force_spill && taken < all) m.num_store_blocks = (all - taken) / (m.store_block_items * sizeof_item);
  return m;
}

// Runs, or all that is in memory, on their way into one run.
template <class Item>
struct priority_queue<Item>::merge_state {
  merge_state(bool of_runs, const queue_memory& m, block::block_manager& blocks, const item_packer<Item>& packer)
      : runs(of_runs),
        slice_memory(2 * m.slice_items * sizeof(Item)),
        writer(blocks, m.block_bytes, m.write_buffers),
        output(writer, packer) {}

  Item* slice() { return reinterpret_cast<Item*>(slice_memory.data()); }

  const bool runs;  // else sequences
  aligned_buffer slice_memory;
  runs::run_writer writer;
  run_output<Item> output;
  std::span<const Item> left;  // of the slice
  uint64_t num_items = 0;
  bool drained = false;
};

template <class Item>
priority_queue<Item>::priority_queue(priority_queue_settings settings)
    : settings_(std::move(settings)),
      memory_(
          divide_queue_memory(settings_, sizeof(Item), settings_.blocks->num_disks(), settings_.blocks->queue_depth())),
      packer_(settings_.item_bytes > 0 ? settings_.item_bytes : static_cast<uint32_t>(sizeof(Item))),
      deletion_memory_(memory_.deletion_items() * sizeof(Item)),
      deletion_(reinterpret_cast<Item*>(deletion_memory_.data())),
      slice_now_(memory_.slice_items),
      store_(memory_.num_store_blocks, memory_.store_block_items),
      runs_(*settings_.blocks, memory_.block_bytes, memory_.read_buffers, packer_),
      input_({.blocks = settings_.blocks,
              .post = settings_.post,
              .num_buffers = num_insertion_buffers,
              .buffer_items = memory_.insertion_items(),
              .block_bytes = memory_.block_bytes,
              .write_buffers = memory_.write_buffers},
             packer_) {
  fill_ = input_.filling();
  near_.reserve(memory_.near_items);
  chunk_least_.resize(memory_.insertion_items() / chunk_items + 1);
  for (size_t i = 0; i < num_slices_ahead; ++i) ahead_.push_back(std::make_unique<slice_ahead>(settings_.post));
}

template <class Item>
priority_queue<Item>::~priority_queue() = default;

// --- the near heap ---

template <class Item>
void priority_queue<Item>::push_near(const Item& item) {
  near_.push_back(item);
  std::push_heap(near_.begin(), near_.end(), later{});
  if (near_.size() == memory_.near_items) spread_near();
}

template <class Item>
void priority_queue<Item>::pop_near() {
  std::pop_heap(near_.begin(), near_.end(), later{});
  near_.pop_back();
}

// The smallest items stay in the deletion buffer, as many as the heap holds; the others count as new.
template <class Item>
void priority_queue<Item>::spread_near() {
  const size_t left = end_ - head_;
  std::memmove(static_cast<void*>(deletion_), deletion_ + head_, left * sizeof(Item));
  std::memcpy(static_cast<void*>(deletion_ + left), near_.data(), near_.size() * sizeof(Item));
  const size_t num_items = left + near_.size();
  near_.clear();
  sort_items(deletion_, num_items);
  head_ = 0;
  end_ = std::min(num_items, memory_.near_items);
  splitter_ = deletion_[end_ - 1];
  std::memcpy(static_cast<void*>(fill_ + num_filled_), deletion_ + end_, (num_items - end_) * sizeof(Item));
  num_filled_ += num_items - end_;
  slice_now_ = std::max(slice_now_ / 2, std::min(2 * memory_.near_items, memory_.slice_items));
  spread_ = true;
}

// --- bulk ---

template <class Item>
void priority_queue<Item>::push_bulk(std::span<const Item>& items) {
  constexpr size_t chunk = 256;
  while (!items.empty() && room() > 0) {
    const size_t count = std::min({items.size(), room(), chunk});
    size_t num_near = 0;
    for (size_t i = 0; i < count; ++i) num_near += items[i] < splitter_ ? 1 : 0;
    if (num_near == 0) {
      std::memcpy(static_cast<void*>(fill_ + num_filled_), items.data(), count * sizeof(Item));
      num_filled_ += count;
    } else {
      for (size_t i = 0; i < count; ++i) push(items[i]);
    }
    items = items.subspan(count);
  }
}

template <class Item>
size_t priority_queue<Item>::pop_bulk(std::span<Item> to, const Item* limit) {
  size_t num_popped = 0;
  while (num_popped < to.size() && has_top()) {
    if (!near_.empty()) {
      if (limit != nullptr && !(top() < *limit)) break;
      to[num_popped++] = top();
      pop();
      continue;
    }
    const Item* first = deletion_ + head_;
    const Item* last = first + std::min(to.size() - num_popped, end_ - head_);
    const Item* stop = limit == nullptr || *(last - 1) < *limit ? last : std::lower_bound(first, last, *limit);
    const auto count = static_cast<size_t>(stop - first);
    std::memcpy(static_cast<void*>(to.data() + num_popped), first, count * sizeof(Item));
    num_popped += count;
    head_ += count;
    if (stop != last) break;
  }
  return num_popped;
}

// --- room for more ---

template <class Item>
void priority_queue<Item>::take_finished() {
  if (merge_ && !merge_->runs) return;  // what it merges is fixed
  typename queue_input<Item>::finished f;
  while (input_.take_finished(f)) {
    new_since_ahead_ = true;
    if (f.run) {
      ++counters_.runs;
      counters_.spilled_bytes += f.run->stored_bytes();
      runs_.add(std::move(*f.run), std::move(f.firsts));
    } else {
      sequences_.push_back(store_.store(f.sorted));
    }
  }
}

template <class Item>
bool priority_queue<Item>::fits_in_store(size_t num_items) const {
  const size_t num_blocks = (input_.items_to_keep() + num_items) / memory_.store_block_items + num_insertion_buffers;
  return num_blocks <= store_.num_free_blocks() && sequences_.size() + num_insertion_buffers < memory_.most_sequences();
}

template <class Item>
outcome priority_queue<Item>::make_room_slowly(size_t num_items, waker& w) {
  while (room() < num_items)
    if (const outcome o = hand_over(w); o.is_blocked()) return o;
  return outcome::ready();
}

// The insertion buffer becomes a sequence or a run; runs are merged first when there are too many.
template <class Item>
outcome priority_queue<Item>::hand_over(waker& w) {
  for (;;) {
    take_finished();
    if (merge_) {
      if (const outcome o = advance_merge(w); o.is_blocked()) return o;
      continue;
    }
    const bool keep = fits_in_store(num_filled_);
    if (!keep) {
      const size_t num_runs = runs_.num_runs() + input_.num_to_write();
      if (num_runs >= memory_.fan_in()) {
        if (runs_.num_runs() >= 2) {
          begin_merge(true);
          continue;
        }
        input_.wake_when_finished(w);
        return outcome::blocked();
      }
      if (num_runs >= memory_.fan_in() / 2 && !sequences_.empty()) {
        begin_merge(false);
        continue;
      }
    }
    if (const outcome o = input_.hand_over(num_filled_, least_new(), !keep, w); o.is_blocked()) return o;
    num_elsewhere_ += num_filled_;
    num_filled_ = scanned_ = 0;
    forget_chunks();
    fill_ = input_.filling();
    if (sequences_.size() > memory_.many_sequences() && input_.has_free()) gather_short_sequences(w);
    return outcome::ready();
  }
}

// The shortest ones become one, as far as they fit a buffer together.
template <class Item>
void priority_queue<Item>::gather_short_sequences(waker& w) {
  std::sort(sequences_.begin(), sequences_.end(),
            [](const sequence& a, const sequence& b) { return a.num_words > b.num_words; });
  size_t num_items = 0, first = sequences_.size();
  while (first > 0 && num_items + sequences_[first - 1].num_words <= memory_.buffer_items)
    num_items += sequences_[--first].num_words;
  if (sequences_.size() - first < 2) return;
  Item* to = fill_;
  std::optional<Item> least;
  for (size_t i = first; i < sequences_.size(); ++i) {
    const size_t count = sequences_[i].num_words;
    if (count == 0) continue;
    if (!least || sequences_[i][0] < *least) least = sequences_[i][0];
    sequences_[i].take(count, to);
    to += count;
  }
  sequences_.erase(sequences_.begin() + static_cast<std::ptrdiff_t>(first), sequences_.end());
  if (num_items == 0) return;
  FLOWRUN_CHECK(input_.hand_over(num_items, *least, false, w).is_ready());
  fill_ = input_.filling();
}

template <class Item>
void priority_queue<Item>::begin_merge(bool of_runs) {
  if (of_runs) runs_.choose_shortest();
  merge_ = std::make_unique<merge_state>(of_runs, memory_, *settings_.blocks, packer_);
}

template <class Item>
outcome priority_queue<Item>::advance_merge(waker& w) {
  merge_state& m = *merge_;
  for (;;) {
    if (const outcome o = m.output.append(m.left, w); o.is_blocked()) return o;
    if (m.drained) {
      if (const outcome o = m.output.finish(w); o.is_blocked()) return o;
      runs::run merged = m.output.take_run();
      ++counters_.runs;
      ++counters_.merges;
      counters_.spilled_bytes += merged.stored_bytes();
      if (m.runs) runs_.choose_all();
      runs_.add(std::move(merged), m.output.take_firsts());
      merge_.reset();
      return outcome::ready();
    }
    slice s;
    const slice_parts parts{.runs = m.runs, .memory = !m.runs, .ahead = false, .input = false};
    switch (cut_slice(memory_.slice_items, parts, m.slice(), s, &w)) {
      case cut::taken: break;
      case cut::blocked: return outcome::blocked();
      case cut::nothing: m.drained = true; continue;
      case cut::too_much_new: internal_error("priority_queue: a merge takes no new items");
    }
    put_in_order(m.slice(), s);
    m.left = {m.slice(), s.num_items};
  }
}

// --- the next slice ---

template <class Item>
outcome priority_queue<Item>::refill_slowly(waker& w) {
  while (!empty()) {
    take_finished();
    if (merge_) {
      if (const outcome o = advance_merge(w); o.is_blocked()) return o;
      continue;
    }
    if (const outcome o = next_ahead().sorter.idle(&w); o.is_blocked()) return o;
    slice s;
    switch (cut_slice(slice_now_, {}, deletion_, s, &w)) {
      case cut::taken: break;
      case cut::blocked: return outcome::blocked();
      case cut::too_much_new:
        if (const outcome o = hand_over(w); o.is_blocked()) return o;
        continue;
      case cut::nothing: internal_error("priority_queue: items are missing");
    }
    put_in_order(deletion_, s);
    num_elsewhere_ -= s.num_items - s.num_new;
    head_ = 0;
    end_ = s.num_items;
    splitter_ = deletion_[end_ - 1];
    if (!spread_) slice_now_ = std::min(2 * slice_now_, memory_.slice_items);
    spread_ = false;
    cut_ahead();
    return outcome::ready();
  }
  return outcome::done();
}

template <class Item>
void priority_queue<Item>::put_in_order(Item* items, const slice& s) {
  const bool few_new = s.num_new <= s.num_items / 4;
  if (!s.others_sorted || !few_new) return sort_items(items, s.num_items);
  if (s.num_new == 0) return;
  // The new ones, from behind the slice, are merged into the others.
  sort_items(items, s.num_new);
  const Item* few = items + s.num_items;
  const Item* const few_end = few + s.num_new;
  std::memcpy(static_cast<void*>(items + s.num_items), items, s.num_new * sizeof(Item));
  const Item* many = items + s.num_new;
  const Item* const many_end = items + s.num_items;
  Item* to = items;
  while (few != few_end && many != many_end) *to++ = *many < *few ? *many++ : *few++;
  std::copy(few, few_end, to);  // where none is left, the others are in their place
}

template <class Item>
void priority_queue<Item>::cut_ahead() {
  if (next_ahead().num_items == 0) new_since_ahead_ = false;
  for (size_t i = 0; i < ahead_.size() && !new_since_ahead_; ++i) {
    slice_ahead& a = *ahead_[(first_ahead_ + i) % ahead_.size()];
    if (a.num_items > 0) continue;
    if (!a.memory) a.memory = aligned_buffer(memory_.slice_items * sizeof(Item));
    a.first = 0;
    slice s;
    if (cut_slice(slice_now_, {.ahead = false, .input = false}, a.items(), s, nullptr) != cut::taken) return;
    a.num_items = s.num_items;
    if (s.num_items < worth_posting) {
      put_in_order(a.items(), s);
    } else if (!s.others_sorted) {
      a.sorter.start([&a](waker&) {
        sort_items(a.items(), a.num_items);
        return outcome::done();
      });
    }
  }
}

template <class Item>
void priority_queue<Item>::find_sources(const slice_parts& parts) {
  sources_.clear();
  if (parts.ahead && next_ahead().num_items > 0) sources_.push_back({*next_ahead().items(), 0, source_kind::ahead});
  if (parts.memory) {
    std::erase_if(sequences_, [](const sequence& s) { return s.num_words == 0; });
    for (uint32_t i = 0; i < sequences_.size(); ++i) sources_.push_back({sequences_[i][0], i, source_kind::sequence});
  }
  if (parts.runs)
    for (uint32_t r = 0; r < runs_.num_slots(); ++r)
      if (runs_.num_front(r) > 0) sources_.push_back({runs_.front(r, 0), r, source_kind::run});
}

template <class Item>
void priority_queue<Item>::bound_by(const slice_source& s, size_t stride, Item& splitter) const {
  switch (s.kind) {
    case source_kind::ahead: {  // what was taken from the sequences and runs goes on behind it
      slice_ahead& a = *ahead_[first_ahead_];
      splitter = std::min(splitter, a.items()[std::min(stride, a.num_items) - 1]);
      break;
    }
    case source_kind::sequence:
      if (sequences_[s.index].num_words >= stride) splitter = std::min(splitter, sequences_[s.index][stride - 1]);
      break;
    case source_kind::run: {
      const size_t num_front = runs_.num_front(s.index);
      if (num_front >= stride)
        splitter = std::min(splitter, runs_.front(s.index, stride - 1));
      else if (runs_.goes_on(s.index))
        splitter = std::min(splitter, runs_.front(s.index, num_front - 1));
      break;
    }
  }
}

template <class Item>
size_t priority_queue<Item>::take_up_to(const slice_source& s, size_t stride, const Item& splitter, Item* to) {
  const auto num_up_to = [&](size_t num_items, auto&& item) {
    return kernels::num_below(std::min(stride, num_items), [&](size_t i) { return splitter < item(i); });
  };
  if (s.kind == source_kind::run) {
    const size_t count = num_up_to(runs_.num_front(s.index), [&](size_t i) { return runs_.front(s.index, i); });
    runs_.take(s.index, count, to);
    return count;
  }
  if (s.kind == source_kind::ahead) {
    slice_ahead& a = next_ahead();
    const size_t count = num_up_to(a.num_items, [&](size_t i) { return a.items()[i]; });
    std::memcpy(static_cast<void*>(to), a.items(), count * sizeof(Item));
    a.first += count;
    a.num_items -= count;
    if (a.num_items == 0) first_ahead_ = (first_ahead_ + 1) % ahead_.size();
    return count;
  }
  sequence& from = sequences_[s.index];
  const size_t count = num_up_to(from.num_words, [&](size_t i) { return from[i]; });
  if (count > 0) from.take(count, to);
  return count;
}

template <class Item>
void priority_queue<Item>::look_at_chunks() {
  for (; (num_chunks_ + 1) * chunk_items <= num_filled_; ++num_chunks_) {
    const Item least = least_of(fill_ + num_chunks_ * chunk_items, chunk_items);
    chunk_least_[num_chunks_] = least;
    least_in_chunks_ = num_chunks_ == 0 ? least : std::min(least_in_chunks_, least);
  }
}

template <class Item>
Item priority_queue<Item>::least_new() {
  look_at_chunks();
  const size_t first_other = num_chunks_ * chunk_items;
  if (first_other == num_filled_) return least_in_chunks_;
  const Item least = least_of(fill_ + first_other, num_filled_ - first_other);
  return num_chunks_ == 0 ? least : std::min(least, least_in_chunks_);
}

// Each item taken leaves its place to the last one. When there are too many, no more are taken (`to` has room for a few
// slices, and one chunk may have all items there are, each moved there from the end), and all go back.
template <class Item>
bool priority_queue<Item>::take_new_up_to(const Item& splitter, Item* to, size_t& num_taken) {
  num_taken = 0;
  look_at_chunks();
  scanned_ += num_chunks_;
  const auto take_from = [&](size_t first, size_t end) {
    scanned_ += end - first;
    for (size_t i = first; i < std::min(end, num_filled_) && num_taken <= memory_.slice_items;) {
      if (splitter < fill_[i]) {
        ++i;
        continue;
      }
      to[num_taken++] = fill_[i];
      fill_[i] = fill_[--num_filled_];
    }
  };
  for (size_t c = 0; c < num_chunks_ && num_taken <= memory_.slice_items; ++c) {
    if (splitter < chunk_least_[c]) continue;
    const size_t first = c * chunk_items, end = first + chunk_items;
    take_from(first, end);
    num_chunks_ = std::min(num_chunks_, num_filled_ / chunk_items);
    if (c < num_chunks_) chunk_least_[c] = least_of(fill_ + first, chunk_items);
  }
  take_from(num_chunks_ * chunk_items, num_filled_);
  if (num_taken > memory_.slice_items) {
    std::memcpy(static_cast<void*>(fill_ + num_filled_), to, num_taken * sizeof(Item));
    num_filled_ += num_taken;
    forget_chunks();
    return false;
  }
  if (num_chunks_ > 0) least_in_chunks_ = least_of(chunk_least_.data(), num_chunks_);
  return true;
}

template <class Item>
typename priority_queue<Item>::cut priority_queue<Item>::cut_slice(size_t wanted, const slice_parts& parts, Item* to,
                                                                   slice& out, waker* w) {
  for (;;) {
    std::optional<Item> bound;
    if (parts.runs) {
      runs_.read_ahead();
      bound = runs_.bound();
    }
    const bool has_run_bound = bound.has_value();
    bool bound_is_away = false;
    if (parts.input) {
      const std::optional<Item> away = input_.least_away();
      bound_is_away = away && (!bound || *away < *bound);
      if (bound_is_away) bound = away;
    }
    find_sources(parts);
    const size_t num_new = parts.input ? num_filled_ : 0;
    if (sources_.empty() && !bound) {
      if (num_new == 0) return cut::nothing;
      if (num_new > wanted) return cut::too_much_new;
      std::memcpy(static_cast<void*>(to), fill_, num_new * sizeof(Item));
      num_filled_ = scanned_ = 0;
      forget_chunks();
      out = {num_new, num_new};
      return cut::taken;
    }
    if (scanned_ > most_scans * num_new && num_new > wanted / 8 && !bound_is_away) return cut::too_much_new;

    // First the source with the smallest item bounds the slice, as if it gave all of it. The sources that begin below
    // that bound then share the slice.
    Item splitter;
    std::memset(static_cast<void*>(&splitter), 0xff, sizeof splitter);
    if (bound) splitter = *bound;
    const auto leader = std::min_element(sources_.begin(), sources_.end(),
                                         [](const auto& a, const auto& b) { return a.first < b.first; });
    size_t num_active = 0;
    if (leader != sources_.end() && !(splitter < leader->first)) {
      bound_by(*leader, wanted, splitter);
      const auto active = std::partition(sources_.begin(), sources_.end(),
                                         [&](const slice_source& s) { return !(splitter < s.first); });
      num_active = static_cast<size_t>(active - sources_.begin());
    }
    const size_t stride = std::max<size_t>(wanted / std::max<size_t>(num_active, 1), 1);
    for (size_t i = 0; i < num_active; ++i) bound_by(sources_[i], stride, splitter);

    out = {};
    if (num_new > 0 && !(splitter < least_new()) && !take_new_up_to(splitter, to, out.num_new))
      return cut::too_much_new;
    out.num_items = out.num_new;
    size_t num_contributing = 0;
    for (size_t i = 0; i < num_active; ++i) {
      if (splitter < sources_[i].first) continue;
      const size_t count = take_up_to(sources_[i], stride, splitter, to + out.num_items);
      out.num_items += count;
      num_contributing += count > 0 ? 1 : 0;
    }
    out.others_sorted = num_contributing <= 1;
    if (out.num_items > 0) return cut::taken;

    // All items that are loaded lie above the bound.
    if (w == nullptr) return cut::blocked;
    if (bound_is_away) {
      input_.wake_when_finished(*w);
      return cut::blocked;
    }
    FLOWRUN_CHECK(has_run_bound);
    if (runs_.load_bound(*w).is_blocked()) return cut::blocked;
  }
}

template class priority_queue<uint32_t>;
template class priority_queue<uint64_t>;
template class priority_queue<word128>;
template class priority_queue<item256>;
template class priority_queue<item512>;

}  // namespace flowrun::container
