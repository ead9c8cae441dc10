#include "counting_pool.h"

#include <arrow/status.h>

namespace columnar {

bool counting_pool::grow(int64_t by) {
  const int64_t now = held_.fetch_add(by, std::memory_order_relaxed) + by;
  if (by <= 0) return true;
  if (now > most_bytes_) {
    held_.fetch_sub(by, std::memory_order_relaxed);
    return false;
  }
  int64_t peak = peak_.load(std::memory_order_relaxed);
  while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
  return true;
}

arrow::Status counting_pool::Allocate(int64_t size, int64_t alignment, uint8_t** out) {
  if (!grow(size)) return arrow::Status::OutOfMemory(size, " bytes more");
  const arrow::Status done = below_.Allocate(size, alignment, out);
  if (!done.ok()) {
    grow(-size);
    return done;
  }
  total_.fetch_add(size, std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_relaxed);
  return done;
}

arrow::Status counting_pool::Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** data) {
  if (!grow(new_size - old_size)) return arrow::Status::OutOfMemory(new_size, " bytes");
  const arrow::Status done = below_.Reallocate(old_size, new_size, alignment, data);
  if (!done.ok()) grow(old_size - new_size);
  return done;
}

void counting_pool::Free(uint8_t* data, int64_t size, int64_t alignment) {
  below_.Free(data, size, alignment);
  grow(-size);
}

}  // namespace columnar
