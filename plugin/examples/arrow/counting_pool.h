// Memory that Arrow takes, within what the node of the job may have.
//
// A request beyond that is refused, and Arrow gives up what it was doing: the job ends with exit code 75.
#pragma once

#include <arrow/memory_pool.h>

#include <atomic>
#include <string>

namespace columnar {

// Any thread.
class counting_pool final : public arrow::MemoryPool {
 public:
  explicit counting_pool(int64_t most_bytes) : most_bytes_(most_bytes) {}

  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override;
  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** data) override;
  void Free(uint8_t* data, int64_t size, int64_t alignment) override;
  int64_t bytes_allocated() const override { return held_.load(std::memory_order_relaxed); }
  int64_t max_memory() const override { return peak_.load(std::memory_order_relaxed); }
  int64_t total_bytes_allocated() const override { return total_.load(std::memory_order_relaxed); }
  int64_t num_allocations() const override { return count_.load(std::memory_order_relaxed); }
  std::string backend_name() const override { return below_.backend_name(); }

  int64_t most_bytes() const { return most_bytes_; }

 private:
  bool grow(int64_t by);

  const int64_t most_bytes_;
  arrow::MemoryPool& below_ = *arrow::system_memory_pool();
  std::atomic<int64_t> held_{0}, peak_{0}, total_{0}, count_{0};
};

}  // namespace columnar
