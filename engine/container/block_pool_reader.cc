#include "engine/container/block_pool_reader.h"

#include <utility>

#include "engine/base/error.h"
#include "engine/block/block_format.h"

namespace flowrun::container {

block_pool_reader::block_pool_reader(block::block_manager& manager, uint32_t block_bytes, unsigned num_buffers)
    : manager_(manager), arena_(size_t{num_buffers} * block_bytes), slots_(std::make_unique<slot[]>(num_buffers)) {
  free_.reserve(num_buffers);
  for (uint32_t i = num_buffers; i-- > 0;) {
    slots_[i].owner = this;
    slots_[i].memory = arena_.data() + size_t{i} * block_bytes;
    slots_[i].request.on_done = &slots_[i];
    free_.push_back(i);
  }
}

block_pool_reader::~block_pool_reader() {
  std::unique_lock lock(mutex_);
  waiter_ = nullptr;
  quiet_.wait(lock, [&] { return num_in_flight_ == 0; });
}

uint32_t block_pool_reader::begin(const block::fetch& what) {
  const uint32_t buffer = free_.back();
  free_.pop_back();
  slot& one = slots_[buffer];
  one.what = what;
  one.done = one.verified = false;
  manager_.prepare(one.request, what.id, io::direction::read, one.memory);
  begun_.push_back(&one.request);
  return buffer;
}

void block_pool_reader::submit() {
  if (begun_.empty()) return;
  {
    std::lock_guard lock(mutex_);
    num_in_flight_ += static_cast<unsigned>(begun_.size());
  }
  manager_.backend().submit(begun_);
  begun_.clear();
}

void block_pool_reader::completed(slot& one) noexcept {
  // Woken and notified under the lock: the reader may die as soon as it sees that nothing is in flight.
  std::lock_guard lock(mutex_);
  one.done = true;
  if (awaited_ == &one) {
    one.request.statistics->add_wait(io::direction::read, manager_.backend().time().now() - blocked_since_);
    awaited_ = nullptr;
    if (waiter_ != nullptr) std::exchange(waiter_, nullptr)->wake();
  }
  if (--num_in_flight_ == 0) quiet_.notify_all();
}

outcome block_pool_reader::ready(uint32_t buffer, waker* w) {
  slot& one = slots_[buffer];
  if (one.verified) return outcome::ready();
  {
    std::lock_guard lock(mutex_);
    if (!one.done) {
      if (w == nullptr) return outcome::blocked();
      waiter_ = w;
      if (awaited_ != &one) {
        awaited_ = &one;
        blocked_since_ = manager_.backend().time().now();
      }
      return outcome::blocked();
    }
  }
  const size_t num_read = one.request.take_result();
  const block::block_id& id = one.what.id;
  const std::string& path = manager_.disk_path(id.disk);
  if (num_read != id.num_bytes)
    throw error(error_kind::io,
                fmt::format("scratch block damaged: {} at offset {}: block {} of run {} has {} bytes but {} were read",
                            path, id.offset, one.what.index, one.what.stream, id.num_bytes, num_read),
                "the scratch file was cut off: run the job again");
  block::verify(one.memory, id.num_bytes, {one.what.stream, one.what.index, one.what.generation, path, id.offset});
  one.verified = true;
  return outcome::ready();
}

void block_pool_reader::release(uint32_t buffer) { free_.push_back(buffer); }

}  // namespace flowrun::container
