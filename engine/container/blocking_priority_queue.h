// A priority queue for an ordinary thread, which sleeps where the queue would be blocked: for tests, benchmarks, and
// programs without an executor.
#pragma once

#include <span>
#include <utility>

#include "engine/base/waker.h"
#include "engine/container/priority_queue.h"

namespace flowrun::container {

template <class Item>
class blocking_priority_queue {
 public:
  explicit blocking_priority_queue(priority_queue_settings settings) : queue_(std::move(settings)) {}

  bool empty() const { return queue_.empty(); }
  uint64_t num_items() const { return queue_.num_items(); }
  void push(const Item& item) {
    if (queue_.room() == 0) [[unlikely]]
      make_room();
    queue_.push(item);
  }
  // Not when empty.
  const Item& top() {
    if (!queue_.has_top()) [[unlikely]]
      refill();
    return queue_.top();
  }
  void pop() {
    if (!queue_.has_top()) [[unlikely]]
      refill();
    queue_.pop();
  }
  // As in priority_queue, for at most max_room() items, but all that is wanted is popped.
  void push_few(const Item* items, size_t num_items) {
    if (queue_.room() < num_items) make_room(num_items);
    queue_.push_few(items, num_items);
  }
  template <class IsWanted>
  size_t pop_while(IsWanted is_wanted) {
    size_t num_popped = 0;
    while (refill()) {
      num_popped += queue_.pop_while(is_wanted);
      if (queue_.has_top()) break;
    }
    return num_popped;
  }
  void push_bulk(std::span<const Item> items) {
    for (queue_.push_bulk(items); !items.empty(); queue_.push_bulk(items)) make_room();
  }
  // Up to `to.size()` items, those less than `limit` only unless it is null; returns how many there were.
  size_t pop_bulk(std::span<Item> to, const Item* limit = nullptr) {
    size_t num_popped = 0;
    while (num_popped < to.size() && refill()) {
      const size_t count = queue_.pop_bulk(to.subspan(num_popped), limit);
      num_popped += count;
      if (count == 0) break;
    }
    return num_popped;
  }
  const priority_queue<Item>& queue() const { return queue_; }

 private:
  void make_room(size_t num_items = 1) {
    blocking_waker w;
    while (queue_.make_room(num_items, w).is_blocked()) w.wait();
  }
  // False when the queue is empty.
  bool refill() {
    blocking_waker w;
    for (;;) {
      const outcome s = queue_.refill(w);
      if (!s.is_blocked()) return s.is_ready();
      w.wait();
    }
  }

  priority_queue<Item> queue_;
};

}  // namespace flowrun::container
