// A priority queue over scratch in memory or on disks, with two threads for its work, beside a heap that says what is
// right. All blocks must be free once the queue is gone.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "engine/base/units.h"
#include "engine/container/blocking_priority_queue.h"
#include "engine/io/backends.h"
#include "tests/engine/block/scratch_fixture.h"
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
  explicit pq_rig(priority_queue_settings settings, bool on_disk = false,
                  std::unique_ptr<io::backend> backend = nullptr, uint64_t limit = 0)
      : backend_(backend   ? std::move(backend)
                 : on_disk ? io::make_thread_backend(16)
                           : io::make_memory_backend()) {
    block::manager_options options = block::memory_options(*backend_, 2, limit);
    if (on_disk) options = block::directory_options(*backend_, directory_.emplace(), 2);
    blocks_ = std::make_unique<block::block_manager>(std::move(options));
    settings.blocks = blocks_.get();
    settings.post = tasks_.poster();
    queue_.emplace(std::move(settings));
  }
  ~pq_rig() {
    queue_.reset();
    EXPECT_EQ(blocks_->used_bytes(), 0U) << "scratch blocks were left behind";
  }

  blocking_priority_queue<Item>& queue() { return *queue_; }
  const queue_counters& counters() const { return queue_->queue().counters(); }
  block::block_manager& blocks() { return *blocks_; }

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
  std::optional<block::temporary_directory> directory_;
  std::unique_ptr<io::backend> backend_;
  task_queue tasks_{2};
  std::unique_ptr<block::block_manager> blocks_;
  std::optional<blocking_priority_queue<Item>> queue_;
  std::priority_queue<Item, std::vector<Item>, std::greater<>> right_;
};

}  // namespace flowrun::container
