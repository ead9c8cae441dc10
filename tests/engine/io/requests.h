// What tests of backends and queues need again and again.
#pragma once

#include <mutex>
#include <vector>

#include "engine/io/file.h"
#include "engine/io/request.h"

namespace flowrun::io {

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
