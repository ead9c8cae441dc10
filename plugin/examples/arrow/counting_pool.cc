#include "counting_pool.h"

#include <arrow/status.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace columnar {

namespace {

constexpr int64_t least_mapped = 64 << 10;
constexpr int64_t most_kept = 64 << 20;

}  // namespace

// What a block of this size takes: one of eight sizes between a power of two and the next, so that blocks fit again.
int64_t counting_pool::room_of(int64_t size) {
  if (size < least_mapped) return size;
  const auto step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(size)) / 8);
  return (size + step - 1) / step * step;
}

bool counting_pool::book(int64_t num_bytes) {
  const int64_t now = held_.fetch_add(num_bytes, std::memory_order_relaxed) + num_bytes;
  if (now > most_bytes_) {
    held_.fetch_sub(num_bytes, std::memory_order_relaxed);
    return false;
  }
  if (now + kept_bytes_.load(std::memory_order_relaxed) > most_bytes_) drop_kept();
  int64_t peak = peak_.load(std::memory_order_relaxed);
  while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
  total_.fetch_add(num_bytes, std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// Null: there is none of this size.
uint8_t* counting_pool::take_kept(int64_t room) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(room);
  if (found == kept_.end() || found->second.empty()) return nullptr;
  uint8_t* const out = found->second.back();
  found->second.pop_back();
  kept_bytes_ -= room;
  return out;
}

bool counting_pool::keep(uint8_t* data, int64_t room) {
  const std::lock_guard lock(mutex_);
  if (kept_bytes_ + room > std::min(most_kept, most_bytes_ - bytes_allocated())) return false;
  kept_[room].push_back(data);
  kept_bytes_ += room;
  return true;
}

void counting_pool::drop_kept() {
  const std::lock_guard lock(mutex_);
  for (auto& [room, blocks] : kept_)
    for (uint8_t* const block : blocks) munmap(block, static_cast<size_t>(room));
  kept_.clear();
  kept_bytes_ = 0;
}

arrow::Status counting_pool::Allocate(int64_t size, int64_t alignment, uint8_t** out) {
  const int64_t room = room_of(size);
  if (size < 0 || room > most_bytes_ || !book(room)) return arrow::Status::OutOfMemory(size, " bytes more");
  if (room < least_mapped) {
    const arrow::Status done = small_.Allocate(size, alignment, out);
    if (!done.ok()) held_ -= room;
    return done;
  }
  if ((*out = take_kept(room)) != nullptr) return arrow::Status::OK();
  void* const mapped =
      mmap(nullptr, static_cast<size_t>(room), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    held_ -= room;
    return arrow::Status::OutOfMemory(size, " bytes more, which the system doesn't have");
  }
  *out = static_cast<uint8_t*>(mapped);
  return arrow::Status::OK();
}

arrow::Status counting_pool::Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** data) {
  if (old_size >= least_mapped && new_size >= 0 && room_of(old_size) == room_of(new_size)) return arrow::Status::OK();
  uint8_t* moved = nullptr;
  ARROW_RETURN_NOT_OK(Allocate(new_size, alignment, &moved));
  if (const int64_t both = std::min(old_size, new_size); both > 0) std::memcpy(moved, *data, static_cast<size_t>(both));
  Free(*data, old_size, alignment);
  *data = moved;
  return arrow::Status::OK();
}

void counting_pool::Free(uint8_t* data, int64_t size, int64_t alignment) {
  const int64_t room = room_of(size);
  held_ -= room;
  if (room < least_mapped)
    small_.Free(data, size, alignment);
  else if (!keep(data, room))
    munmap(data, static_cast<size_t>(room));
}

}  // namespace columnar
