// What tests of backends and queues need again and again.
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "engine/io/file.h"
#include "engine/io/request.h"

namespace flowrun::io {

struct counting_waker final : waker {
  void wake() noexcept override {
    std::lock_guard lock(mutex);
    ++num_wakes;
    changed.notify_all();
  }
  void wait_for(unsigned wanted) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return num_wakes >= wanted; });
  }
  std::mutex mutex;
  std::condition_variable changed;
  unsigned num_wakes = 0;
};

// The order in which requests ended.
struct finish_log {
  std::mutex mutex;
  std::vector<size_t> order;
};

// Writes down the number of its request when that ends.
struct logging_waker final : waker {
  finish_log* log = nullptr;
  size_t number = 0;
  void wake() noexcept override {
    std::lock_guard lock(log->mutex);
    log->order.push_back(number);
  }
};

inline void prepare(request& r, file& target, direction way, uint64_t offset, std::byte* data, size_t num_bytes) {
  r.target = &target;
  r.way = way;
  r.offset = offset;
  r.data = data;
  r.num_bytes = num_bytes;
}

}  // namespace flowrun::io
