#include "engine/io/transfer_pool.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/mutex.h"
#include "engine/io/statistics.h"

namespace flowrun::io {

// Makes the shared_ptr that a consumer holds a buffer by: its control block lies in the slot, and when the last one is
// gone, the buffer goes back.
template <class T>
struct transfer_pool::lease_allocator {
  using value_type = T;
  std::shared_ptr<transfer_pool> owner;
  slot* lent;

  lease_allocator(std::shared_ptr<transfer_pool> from, slot* one) : owner(std::move(from)), lent(one) {}
  template <class U>
  lease_allocator(const lease_allocator<U>& other) : owner(other.owner), lent(other.lent) {}  // NOLINT: conversion
  T* allocate(size_t) {
    static_assert(sizeof(T) <= sizeof(slot::lease) && alignof(T) <= alignof(std::max_align_t));
    return reinterpret_cast<T*>(lent->lease.data());
  }
  void deallocate(T*, size_t) noexcept { owner->give_back(*lent); }
  template <class U>
  bool operator==(const lease_allocator<U>& other) const {
    return lent == other.lent;
  }
};

transfer_pool::transfer_pool(backend& io, size_t num_slots, size_t slot_bytes)
    : io_(io), slot_bytes_(round_up(slot_bytes, io_alignment)), arena_(num_slots * slot_bytes_), slots_(num_slots) {
  free_.reserve(num_slots);
  for (size_t i = num_slots; i-- > 0;) {
    slot& one = slots_[i];
    one.owner = this;
    one.number = static_cast<uint32_t>(i);
    one.memory = arena_.data() + i * slot_bytes_;
    one.transfer.on_done = &one;
    free_.push_back(&one);
  }
}

void transfer_pool::close() {
  mutex_lock lock(mutex_);
  closed_ = true;
  waiter_ = nullptr;
  quiet_.wait(lock, [&]() FLOWRUN_REQUIRES(mutex_) { return num_in_flight_ == 0 && num_submitting_ == 0; });
  const auto is_held = [](const slot& one) { return one.now == state::held; };
  if (std::none_of(slots_.begin(), slots_.end(), is_held)) arena_ = {};
  for (const slot& one : slots_)
    if (!is_held(one)) arena_.discard(one.number * slot_bytes_, slot_bytes_);
}

transfer_pool::slot* transfer_pool::take_free() {
  if (free_.empty()) return nullptr;
  slot* const taken = free_.back();
  free_.pop_back();
  return taken;
}

void transfer_pool::begin(batch& in, slot& one, uint64_t position) {
  one.now = state::in_flight;
  one.position = position;
  ++num_in_flight_;
  in.add(one.transfer);
}

void transfer_pool::drop(slot& one) noexcept {
  try {
    if (one.now == state::done) one.transfer.take_result();
  } catch (const error&) {  // it failed, which does no harm: its data is not wanted any more
  }
  one.now = state::free;
  free_.push_back(&one);  // has room for all
}

transfer_pool::slot& transfer_pool::slot_at(const std::byte* memory) {
  const auto offset = static_cast<size_t>(memory - arena_.data());
  FLOWRUN_CHECK(memory >= arena_.data() && offset < arena_.num_bytes() && offset % slot_bytes_ == 0);
  return slots_[offset / slot_bytes_];
}

transfer_pool::slot* transfer_pool::latest_done() {
  slot* latest = nullptr;
  for (slot& one : slots_)
    if (one.now == state::done && (latest == nullptr || one.position > latest->position)) latest = &one;
  return latest;
}

bool transfer_pool::transfer_on() {
  bool any = false;
  for (bool goes_on = false; !closed_; goes_on = true) {
    batch next;
    choose(next, goes_on);
    if (next.empty()) break;
    any = true;
    ++num_submitting_;
    mutex_.unlock();
    io_.submit(next.list());
    mutex_.lock();
    if (--num_submitting_ == 0) quiet_.notify_all();
    if (!next.full()) break;
  }
  return any;
}

void transfer_pool::block(waker* w) {
  waiter_ = w;
  if (blocked_since_ == 0) blocked_since_ = io_.time().now();
}

void transfer_pool::wake() noexcept {
  if (waiter_ != nullptr) std::exchange(waiter_, nullptr)->wake();
}

// Woken and notified under the lock: the owner may go as soon as it sees that nothing is in flight.
void transfer_pool::ended(slot& one) noexcept {
  mutex_lock lock(mutex_);
  one.now = state::done;
  --num_in_flight_;
  if (arrived(one)) {
    if (blocked_since_ != 0 && one.transfer.statistics != nullptr)
      one.transfer.statistics->add_wait(one.transfer.way, io_.time().now() - blocked_since_);
    blocked_since_ = 0;
    wake();
  }
  if (num_in_flight_ == 0) quiet_.notify_all();
}

std::shared_ptr<const void> transfer_pool::lend(slot& one) {
  struct lent_buffer {};
  return std::allocate_shared<lent_buffer>(lease_allocator<lent_buffer>(shared_from_this(), &one));
}

void transfer_pool::give_back(slot& one) noexcept {
  mutex_lock lock(mutex_);
  one.now = state::free;
  if (closed_) return arena_.discard(one.number * slot_bytes_, slot_bytes_);
  free_.push_back(&one);  // has room for all
  if (came_back()) transfer_on();
}

}  // namespace flowrun::io
