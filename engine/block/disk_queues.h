// One first-in first-out queue per disk over the items 0 … n-1, each in at most one queue: linked lists in arrays, so
// that a schedule of millions of blocks allocates three times in all. Every operation is O(1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/error.h"

namespace flowrun::block {

class disk_queues {
 public:
  disk_queues(unsigned num_disks, size_t num_items) : head_(num_disks, none), tail_(num_disks, none), next_(num_items) {
    FLOWRUN_CHECK(num_items < none);
  }

  bool empty(unsigned disk) const { return head_[disk] == none; }

  void push(unsigned disk, uint64_t item) {
    const auto number = static_cast<uint32_t>(item);
    next_[number] = none;
    (empty(disk) ? head_[disk] : next_[tail_[disk]]) = number;
    tail_[disk] = number;
  }

  // The queue must not be empty.
  uint64_t pop(unsigned disk) {
    const uint32_t number = head_[disk];
    head_[disk] = next_[number];
    return number;
  }

 private:
  static constexpr uint32_t none = UINT32_MAX;
  std::vector<uint32_t> head_, tail_;  // by disk; the tail of an empty queue means nothing
  std::vector<uint32_t> next_;         // by item: the one behind it
};

}  // namespace flowrun::block
