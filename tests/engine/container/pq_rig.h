// A priority queue over scratch in memory or on disks, with two threads for its work, beside a heap that says what is
// right.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "engine/container/blocking_priority_queue.h"
#include "tests/support/scratch_rig.h"
#include "tests/support/task_queue.h"

namespace flowrun::container {

inline bool operator>(const item256& a, const item256& b) { return b < a; }
inline bool operator>(const item512& a, const item512& b) { return b < a; }

// An item whose order is that of `number`, with something in every word.
template <class Item>
Item item_of(uint64_t number) {
  if constexpr (is_wide_item<Item>) {
    Item item{};
    constexpr size_t last = sizeof(Item) / sizeof(uint64_t) - 1;
    item.words[0] = number >> 40;  // the order needs the second word too
    item.words[1] = number;
    item.words[last] = last > 1 ? number * 3 : item.words[last];
    return item;
  } else if constexpr (sizeof(Item) == 16) {
    return static_cast<Item>(number) << 50 | (number & 0xffff);
  } else {
    return static_cast<Item>(number);
  }
}

template <class Item>
class pq_rig {
 public:
  explicit pq_rig(priority_queue_settings settings, const scratch_options& place = {},
                  std::unique_ptr<io::backend> backend = nullptr)
      : scratch_(place, std::move(backend)) {
    settings.blocks = &scratch_.blocks();
    settings.post = tasks_.poster();
    queue_.emplace(std::move(settings));
  }

  blocking_priority_queue<Item>& queue() { return *queue_; }
  const queue_counters& counters() const { return queue_->queue().counters(); }
  block::block_manager& blocks() { return scratch_.blocks(); }

  void push(const Item& item) {
    queue_->push(item);
    right_.push(item);
  }
  // False at the first item that is wrong.
  bool pop() {
    const bool same = queue_->top() == right_.top();
    EXPECT_TRUE(same) << "with " << right_.size() << " items";
    queue_->pop();
    right_.pop();
    return same;
  }
  // Pops until nothing is left.
  bool drain() {
    while (!right_.empty()) {
      if (queue_->num_items() != right_.size()) {
        ADD_FAILURE() << queue_->num_items() << " items, not " << right_.size();
        return false;
      }
      if (!pop()) return false;
    }
    EXPECT_TRUE(queue_->empty());
    return true;
  }
  std::priority_queue<Item, std::vector<Item>, std::greater<>>& right() { return right_; }

 private:
  task_queue tasks_{2};
  scratch_rig scratch_;
  std::optional<blocking_priority_queue<Item>> queue_;
  std::priority_queue<Item, std::vector<Item>, std::greater<>> right_;
};

}  // namespace flowrun::container
