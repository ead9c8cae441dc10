#include "engine/record/batch_pool.h"

#include <algorithm>
#include <array>
#include <bit>
#include <new>
#include <utility>
#include <vector>

#include "engine/base/buffer.h"
#include "engine/base/mutex.h"

namespace flowrun::record {

namespace {

constexpr size_t num_classes = 40;           // buffers of 2^class bytes
constexpr size_t least_mapped = 16;          // the first class of whole mappings
constexpr uint64_t window_bytes = 64 * MiB;  // of buffers taken; what lay free all the while is idle

struct buffer {
  std::byte* data;
  size_t size_class;
};

constexpr uint64_t bytes_of(size_t size_class) { return uint64_t{1} << size_class; }

std::byte* allocate(size_t size_class) {
  if (size_class >= least_mapped) return map_pages(bytes_of(size_class));
  return static_cast<std::byte*>(::operator new[](bytes_of(size_class), std::align_val_t{64}));
}

void release(buffer b) noexcept {
  if (b.size_class >= least_mapped)
    unmap_pages(b.data, bytes_of(b.size_class));
  else
    ::operator delete[](b.data, std::align_val_t{64});
}

}  // namespace

struct batch_pool::state {
  struct free_list {
    std::vector<std::byte*> buffers;  // given back last: at the back
    size_t least = 0;                 // the fewest there were in this window
  };

  explicit state(uint64_t most) : most_free(most) {}
  ~state() {
    for (size_t c = 0; c < num_classes; ++c)
      for (std::byte* data : free[c].buffers) release({data, c});
  }

  // Of each size, the buffers that have been free for longest, until no more than always_kept are free. With
  // `idle_only`, only as many as were not needed in this window. The largest first: they are the fewest calls.
  std::vector<buffer> take_out(bool idle_only) FLOWRUN_REQUIRES(mutex) {
    std::vector<buffer> out;
    for (size_t c = num_classes; c-- > 0;) {
      free_list& list = free[c];
      size_t count = idle_only ? list.least : list.buffers.size();
      if (free_bytes <= always_kept) count = 0;
      if (count > 0) count = std::min<size_t>(count, (free_bytes - always_kept + bytes_of(c) - 1) / bytes_of(c));
      for (size_t i = 0; i < count; ++i) out.push_back({list.buffers[i], c});
      list.buffers.erase(list.buffers.begin(), list.buffers.begin() + static_cast<ptrdiff_t>(count));
      list.least = list.buffers.size();
      free_bytes -= count * bytes_of(c);
      held -= count * bytes_of(c);
    }
    taken = 0;
    return out;
  }

  // A free buffer. Null: there is none, and `held` has grown by one buffer. `idle` has to be released.
  std::byte* find(size_t size_class, std::vector<buffer>& idle) {
    mutex_lock lock(mutex);
    std::byte* data = nullptr;
    free_list& list = free[size_class];
    if (!list.buffers.empty()) {
      data = list.buffers.back();
      list.buffers.pop_back();
      list.least = std::min(list.least, list.buffers.size());
      free_bytes -= bytes_of(size_class);
    } else {
      held += bytes_of(size_class);
      peak = std::max(peak, held);
    }
    taken += bytes_of(size_class);
    if (taken >= window_bytes) idle = take_out(true);
    return data;
  }

  // False when there is no memory left even to note it.
  bool take_in(const buffer& b) noexcept FLOWRUN_REQUIRES(mutex) {
    try {
      free[b.size_class].buffers.push_back(b.data);
    } catch (const std::bad_alloc&) {
      return false;
    }
    free_bytes += bytes_of(b.size_class);
    return true;
  }

  void give_back(buffer b) noexcept {
    {
      mutex_lock lock(mutex);
      if (free_bytes + bytes_of(b.size_class) <= most_free && take_in(b)) return;
      held -= bytes_of(b.size_class);
    }
    release(b);
  }

  const uint64_t most_free;
  mutable flowrun::mutex mutex;
  std::array<free_list, num_classes> free FLOWRUN_GUARDED_BY(mutex);
  uint64_t free_bytes FLOWRUN_GUARDED_BY(mutex) = 0;
  uint64_t held FLOWRUN_GUARDED_BY(mutex) = 0;
  uint64_t peak FLOWRUN_GUARDED_BY(mutex) = 0;
  uint64_t taken FLOWRUN_GUARDED_BY(mutex) = 0;  // in this window
};

batch_pool::batch_pool(uint64_t most_free) : state_(std::make_shared<state>(most_free)) {}

std::shared_ptr<std::byte[]> batch_pool::take(size_t num_bytes) {
  const auto size_class = static_cast<size_t>(std::bit_width(std::max<size_t>(num_bytes, 64) - 1));
  std::vector<buffer> idle;
  std::byte* data = state_->find(size_class, idle);
  for (const buffer& b : idle) release(b);
  if (data == nullptr) {
    try {
      data = allocate(size_class);
    } catch (...) {
      mutex_lock lock(state_->mutex);
      state_->held -= bytes_of(size_class);
      throw;
    }
  }
  return {data, [s = state_, size_class](std::byte* p) { s->give_back({p, size_class}); }};
}

void batch_pool::trim() {
  std::vector<buffer> surplus;
  {
    mutex_lock lock(state_->mutex);
    surplus = state_->take_out(false);
  }
  for (const buffer& b : surplus) release(b);
}

uint64_t batch_pool::held_bytes() const {
  mutex_lock lock(state_->mutex);
  return state_->held;
}

uint64_t batch_pool::peak_bytes() const {
  mutex_lock lock(state_->mutex);
  return state_->peak;
}

}  // namespace flowrun::record
