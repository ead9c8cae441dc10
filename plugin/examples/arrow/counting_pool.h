// Memory that Arrow takes, within what the node of the job may have.
//
// A request beyond that is refused, and Arrow gives up what it was doing: the job ends with exit code 75.
//
// Large blocks are mapped, and kept for a moment when they are given back: batches come and go, and pages that the
// kernel has to clear for each of them cost more than unpacking does. (The system's allocator keeps more than is known
// here.)
#pragma once

#include <arrow/memory_pool.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace columnar {

// Any thread.
class counting_pool final : public arrow::MemoryPool {
 public:
  explicit counting_pool(int64_t most_bytes) : most_bytes_(most_bytes) {}
  counting_pool(const counting_pool&) = delete;
  counting_pool& operator=(const counting_pool&) = delete;
  ~counting_pool() override { drop_kept(); }

  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override;
  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** data) override;
  void Free(uint8_t* data, int64_t size, int64_t alignment) override;
  // What is kept counts as free.
  int64_t bytes_allocated() const override { return held_.load(std::memory_order_relaxed); }
  int64_t max_memory() const override { return peak_.load(std::memory_order_relaxed); }
  int64_t total_bytes_allocated() const override { return total_.load(std::memory_order_relaxed); }
  int64_t num_allocations() const override { return count_.load(std::memory_order_relaxed); }
  std::string backend_name() const override { return "flowrun"; }

  int64_t most_bytes() const { return most_bytes_; }

 private:
  static int64_t room_of(int64_t size);
  bool book(int64_t num_bytes);
  uint8_t* take_kept(int64_t room);
  bool keep(uint8_t* data, int64_t room);
  void drop_kept();

  const int64_t most_bytes_;
  arrow::MemoryPool& small_ = *arrow::system_memory_pool();
  std::atomic<int64_t> held_{0}, peak_{0}, total_{0}, count_{0};

  std::mutex mutex_;
  std::map<int64_t, std::vector<uint8_t*>> kept_;  // by size; guarded by mutex_
  std::atomic<int64_t> kept_bytes_{0};             // changed under mutex_
};

}  // namespace columnar
