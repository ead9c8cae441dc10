#include "engine/container/queue_input.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/mutex.h"

namespace flowrun::container {

template <class Item>
queue_input<Item>::queue_input(const settings& s, const item_packer<Item>& packer)
    : settings_(s), packer_(packer), writer_work_(s.post) {
  FLOWRUN_CHECK(s.num_buffers >= 2);
  for (unsigned i = 0; i < s.num_buffers; ++i) {
    buffers_.push_back(std::make_unique<buffer>(s.post));
    buffers_.back()->memory = aligned_buffer(s.buffer_items * sizeof(Item));
  }
  buffers_[0]->now = state::filling;
}

template <class Item>
void queue_input<Item>::shutdown() {
  for (auto& b : buffers_) b->sorter.shutdown();
  writer_work_.shutdown();
  // The writer frees what it has not handed over.
  for (auto& b : buffers_)
    if (b->run)
      for (const runs::run_block& block : b->run->blocks) settings_.blocks->free(block.id);
}

template <class Item>
bool queue_input<Item>::has_free() const {
  mutex_lock lock(mutex_);
  return std::any_of(buffers_.begin(), buffers_.end(), [](const auto& b) { return b->now == state::free; });
}

template <class Item>
outcome queue_input<Item>::hand_over(size_t num_items, const Item& least, bool write, waker& w) {
  buffer& full = *buffers_[filling_];
  {
    mutex_lock lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    const auto next =
        std::find_if(buffers_.begin(), buffers_.end(), [](const auto& b) { return b->now == state::free; });
    if (next == buffers_.end()) {
      wait(w);
      return outcome::blocked();
    }
    (*next)->now = state::filling;
    filling_ = static_cast<size_t>(next - buffers_.begin());
    full.now = state::away;
  }
  full.num_items = num_items;
  full.write = write;
  full.least = least;
  full.sorter.start([this, &full](waker&) {
    sort(full);
    return outcome::done();
  });
  return outcome::ready();
}

template <class Item>
void queue_input<Item>::sort(buffer& b) {
  try {
    sort_items(b.items(), b.num_items);
    if (!b.write) return end(b, state::sorted);
    std::span<const Item> left(b.items(), b.num_items);
    writer_work_.start([this, &b, left](waker& w) mutable { return write(b, left, w); });
  } catch (...) {
    end(b, state::away, std::current_exception());
  }
}

template <class Item>
outcome queue_input<Item>::write(buffer& b, std::span<const Item>& left, waker& w) {
  try {
    if (!writer_) writer_.emplace(*settings_.blocks, settings_.block_bytes, settings_.write_buffers);
    if (!b.output) b.output.emplace(*writer_, packer_);
    if (const outcome o = b.output->append(left, w); o.is_blocked()) return o;
    if (const outcome o = b.output->finish(w); o.is_blocked()) return o;
    b.run = b.output->take_run();
    b.firsts = b.output->take_firsts();
    b.output.reset();
    end(b, state::written);
  } catch (...) {
    end(b, state::away, std::current_exception());
    throw;  // so that no other one is written: the writer holds what there is of this one's run
  }
  return outcome::done();
}

template <class Item>
void queue_input<Item>::end(buffer& b, state reached, std::exception_ptr failure) {
  mutex_lock lock(mutex_);
  b.now = reached;
  if (failure && !failure_) failure_ = failure;
  if (waiter_ != nullptr) std::exchange(waiter_, nullptr)->wake();
}

template <class Item>
bool queue_input<Item>::take_finished(finished& out) {
  out = {};
  mutex_lock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  if (handed_out_) buffers_[*std::exchange(handed_out_, std::nullopt)]->now = state::free;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    buffer& b = *buffers_[i];
    if (b.now == state::sorted) {
      out.sorted = {b.items(), b.num_items};
      handed_out_ = i;
      return true;
    }
    if (b.now == state::written) {
      out.run = std::exchange(b.run, std::nullopt);
      out.firsts = std::move(b.firsts);
      b.now = state::free;
      return true;
    }
  }
  return false;
}

template <class Item>
void queue_input<Item>::wake_when_finished(waker& w) {
  mutex_lock lock(mutex_);
  wait(w);
}

// A buffer that has finished since the last take_finished() doesn't wake again, so `w` is woken at once for it.
template <class Item>
void queue_input<Item>::wait(waker& w) {
  waiter_ = &w;
  const bool any = failure_ || std::any_of(buffers_.begin(), buffers_.end(), [](const auto& b) {
                     return b->now == state::sorted || b->now == state::written;
                   });
  if (any) std::exchange(waiter_, nullptr)->wake();
}

template <class Item>
std::optional<Item> queue_input<Item>::least_away() const {
  std::optional<Item> least;
  mutex_lock lock(mutex_);
  for (const auto& b : buffers_) {
    if (b->now == state::free || b->now == state::filling) continue;
    if (!least || b->least < *least) least = b->least;
  }
  return least;
}

template <class Item>
size_t queue_input<Item>::num_to_write() const {
  mutex_lock lock(mutex_);
  return static_cast<size_t>(std::count_if(buffers_.begin(), buffers_.end(), [](const auto& b) {
    return b->write && (b->now == state::away || b->now == state::written);
  }));
}

template <class Item>
size_t queue_input<Item>::items_to_keep() const {
  mutex_lock lock(mutex_);
  size_t num_items = 0;
  for (const auto& b : buffers_)
    if (!b->write && (b->now == state::away || b->now == state::sorted)) num_items += b->num_items;
  return num_items;
}

template class queue_input<uint32_t>;
template class queue_input<uint64_t>;
template class queue_input<word128>;
template class queue_input<item256>;
template class queue_input<item512>;

}  // namespace flowrun::container
