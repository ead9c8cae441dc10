// Reading ahead; see block_prefetcher.h.
//
// The core is shared by the prefetcher and the leases of the buffers that the consumer holds. Reads are collected under
// the lock and submitted without it: a backend may complete them before submit() returns, on the same thread. Nothing
// is allocated per block: a lease's control block lies in the buffer's slot (lease_allocator).
#include "engine/block/block_prefetcher.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <set>
#include <utility>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/block/buffer_split.h"
#include "engine/block/prefetch_schedule.h"

namespace flowrun::block {

namespace {

constexpr uint32_t no_slot = UINT32_MAX;
constexpr unsigned most_in_batch = 8;
constexpr size_t most_in_submit = 16;
constexpr size_t lease_bytes = 128;

// Reads to be submitted together.
struct read_list {
  std::array<io::request*, most_in_submit> reads;
  size_t num_reads = 0;

  bool empty() const { return num_reads == 0; }
  bool full() const { return num_reads == most_in_submit; }
  void push(io::request& read) { reads[num_reads++] = &read; }
  std::span<io::request* const> span() const { return {reads.data(), num_reads}; }
};

enum class slot_state : uint8_t { free, in_flight, ready, held };

}  // namespace

struct block_prefetcher::core {
  struct slot final : waker {
    core* owner = nullptr;
    std::byte* memory = nullptr;
    io::request request;
    slot_state state = slot_state::free;
    uint64_t position = 0;  // in the sequence
    alignas(std::max_align_t) std::array<std::byte, lease_bytes> lease;

    // From an I/O thread, or from within submit().
    void wake() noexcept override { owner->completed(*this); }
  };

  // Makes the shared_ptr that a consumer holds a buffer by: its control block lies in the slot, and when the last one
  // is gone, the buffer goes back.
  template <class T>
  struct lease_allocator {
    using value_type = T;
    std::shared_ptr<core> owner;
    slot* held;

    lease_allocator(std::shared_ptr<core> from, slot* one) : owner(std::move(from)), held(one) {}
    template <class U>
    lease_allocator(const lease_allocator<U>& other) : owner(other.owner), held(other.held) {}  // NOLINT: conversion
    T* allocate(size_t) {
      static_assert(sizeof(T) <= lease_bytes && alignof(T) <= alignof(std::max_align_t));
      return reinterpret_cast<T*>(held->lease.data());
    }
    void deallocate(T*, size_t) noexcept { owner->give_back(*held); }
    template <class U>
    bool operator==(const lease_allocator<U>& other) const {
      return held == other.held;
    }
  };

  core(block_manager& blocks, std::vector<fetch> fetches, unsigned num_buffers, prefetch_options how)
      : manager(blocks),
        options(how),
        sequence(std::move(fetches)),
        slots(static_cast<size_t>(std::min<uint64_t>(num_buffers, sequence.size()))) {
    uint32_t longest = 0;
    for (const fetch& one : sequence) longest = std::max(longest, one.id.num_bytes);
    free_slots.reserve(slots.size());
    const size_t slot_bytes = round_up(longest, io_alignment);
    arena = aligned_buffer(slots.size() * slot_bytes);
    for (size_t i = 0; i < slots.size(); ++i) {
      slots[i].owner = this;
      slots[i].memory = arena.data() + i * slot_bytes;
      slots[i].request.on_done = &slots[i];
    }
    for (size_t i = slots.size(); i > 0; --i) free_slots.push_back(static_cast<uint32_t>(i - 1));
    slot_of.assign(sequence.size(), no_slot);
    const unsigned num_disks = manager.num_disks();
    // With several disks, whose turn is next isn't known here: a read that waits for company may leave its disk idle.
    if (num_disks == 1) batch = std::clamp<unsigned>(static_cast<unsigned>(slots.size()) / 8, 1, most_in_batch);
    if (num_disks > 1 && sequence.size() > 1 && options.order == fetch_order::optimal) {
      const uint64_t wanted =
          options.scheduled_buffers > 0 ? options.scheduled_buffers : split_read_buffers(slots.size(), num_disks);
      std::vector<uint32_t> disks;
      disks.reserve(sequence.size());
      for (const fetch& one : sequence) disks.push_back(one.id.disk);
      const std::vector<uint64_t> ticks = ticks_of_weights(manager.weights());
      order = optimal_schedule(disks, ticks, std::min<uint64_t>(wanted, slots.size())).order;
    }
  }

  block_manager& manager;
  const prefetch_options options;
  const std::vector<fetch> sequence;
  std::vector<uint64_t> order;  // of issuing; empty: the sequence itself
  unsigned batch = 1;
  aligned_buffer arena;  // of all slots: huge pages make direct reads of 1 MiB half as fast again

  std::mutex mutex;               // guards everything below
  std::condition_variable quiet;  // num_in_flight and num_submitting may have become 0, or the awaited block is there
  std::vector<slot> slots;
  std::vector<uint32_t> free_slots;
  std::vector<uint32_t> slot_of;  // by position: where it is in flight, ready or held
  uint64_t num_ordered = 0;       // order[0 … num_ordered) has been issued (or skipped: issued before its turn)
  std::set<uint64_t> given_up;    // positions to be issued again
  uint64_t next_position = 0;
  uint64_t num_given_up = 0;
  unsigned num_in_flight = 0;
  unsigned num_submitting = 0;  // threads inside submit()
  bool closed = false;
  waker* waiter = nullptr;
  uint64_t blocked_since = 0;  // the consumer waits for next_position since then; 0: it doesn't
  std::exception_ptr failure;

  // Under the lock. The next position to issue, or sequence.size().
  uint64_t next_to_issue() {
    while (num_ordered < sequence.size()) {
      const uint64_t position = order.empty() ? num_ordered : order[num_ordered];
      if (position >= next_position && slot_of[position] == no_slot && !given_up.contains(position)) {
        return given_up.empty() ? position : std::min(position, *given_up.begin());
      }
      ++num_ordered;
    }
    return given_up.empty() ? sequence.size() : *given_up.begin();
  }

  // Under the lock: gives free buffers to the next blocks of the order, once there are enough of them for a batch.
  // `now`: also fewer.
  read_list collect(bool now) {
    read_list reads;
    if (closed || failure || free_slots.empty()) return reads;
    const bool starving = next_position < sequence.size() && slot_of[next_position] == no_slot;
    if (!now && !starving && free_slots.size() < batch && num_in_flight > 0) return reads;
    while (!free_slots.empty() && !reads.full()) {
      uint64_t position = next_to_issue();
      if (position == sequence.size()) break;
      if (starving && free_slots.size() == 1 && slot_of[next_position] == no_slot) position = next_position;
      issue(position, reads);
    }
    return reads;
  }

  void issue(uint64_t position, read_list& reads) {
    slot& one = slots[free_slots.back()];
    manager.prepare(one.request, sequence[position].id, io::direction::read, one.memory);
    reads.push(one.request);
    one.state = slot_state::in_flight;
    one.position = position;
    slot_of[position] = free_slots.back();
    free_slots.pop_back();
    given_up.erase(position);
    ++num_in_flight;
  }

  // Under the lock, when the block needed next has no buffer and none is free: takes the one of the ready block that is
  // needed last. False when there is none to take.
  bool give_up_latest() {
    slot* latest = nullptr;
    for (slot& one : slots) {
      if (one.state == slot_state::ready && (latest == nullptr || one.position > latest->position)) latest = &one;
    }
    if (latest == nullptr) return false;
    try {
      latest->request.take_result();
    } catch (const error&) {
      // The read is tried again, and fails again, when its turn comes.
    }
    given_up.insert(latest->position);
    ++num_given_up;
    free_slots.push_back(slot_of[latest->position]);
    slot_of[latest->position] = no_slot;
    latest->state = slot_state::free;
    return true;
  }

  // Submits them, and what else there is to read.
  void submit(read_list reads) noexcept {
    for (;;) {
      const bool more = reads.full();
      manager.backend().submit(reads.span());
      std::lock_guard lock(mutex);
      reads = more ? collect(true) : read_list();
      if (!reads.empty()) continue;
      --num_submitting;
      quiet.notify_all();
      return;
    }
  }

  void completed(slot& one) noexcept {
    // Woken and notified under the lock: the prefetcher may die as soon as it sees that nothing is in flight.
    std::lock_guard lock(mutex);
    one.state = slot_state::ready;
    --num_in_flight;
    if (next_position == one.position && blocked_since != 0) {
      one.request.statistics->add_wait(io::direction::read, manager.backend().time().now() - blocked_since);
      blocked_since = 0;
    }
    const bool awaited =
        next_position == one.position || (next_position < sequence.size() && slot_of[next_position] == no_slot);
    if (awaited || num_in_flight == 0) quiet.notify_all();
    if (awaited && waiter != nullptr) std::exchange(waiter, nullptr)->wake();
  }

  void give_back(slot& one) noexcept {
    read_list reads;
    {
      std::lock_guard lock(mutex);
      one.state = slot_state::free;
      if (closed) return;
      free_slots.push_back(static_cast<uint32_t>(&one - slots.data()));
      reads = collect(false);
      if (reads.empty()) return;
      ++num_submitting;
    }
    submit(reads);
  }

  // The buffer with the next block, now held; nullptr: blocked (waiter is left behind).
  slot* take_next(waker* who) {
    for (;;) {
      read_list reads;
      {
        std::lock_guard lock(mutex);
        waiter = nullptr;
        if (failure) std::rethrow_exception(failure);
        const uint32_t at = slot_of[next_position];
        if (at != no_slot && slots[at].state == slot_state::ready) {
          slots[at].state = slot_state::held;
          ++next_position;
          return &slots[at];
        }
        if (at == no_slot && free_slots.empty()) give_up_latest();
        reads = collect(false);
        if (reads.empty()) {
          waiter = who;
          if (blocked_since == 0) blocked_since = manager.backend().time().now();
          return nullptr;
        }
        ++num_submitting;
      }
      submit(reads);
    }
  }

  // Checks what was read and fills `out`, which owns the buffer from here on.
  void deliver(const fetch& wanted, slot& one, prefetched_block& out) {
    const size_t num_read = one.request.take_result();
    const std::string& path = manager.disk_path(wanted.id.disk);
    if (num_read != wanted.id.num_bytes) {
      throw error(
          error_kind::io,
          fmt::format("scratch block damaged: {} at offset {}: block {} of run {} has {} bytes but {} were read", path,
                      wanted.id.offset, wanted.index, wanted.stream, wanted.id.num_bytes, num_read),
          "the scratch file was cut off: run the job again");
    }
    out.header_ = verify(one.memory, wanted.id.num_bytes,
                         {wanted.stream, wanted.index, wanted.generation, path, wanted.id.offset});
    out.data_ = one.memory;
    if (options.free_after_read) manager.free(wanted.id);
  }
};

block_prefetcher::block_prefetcher(block_manager& manager, std::vector<fetch> sequence, unsigned num_buffers,
                                   prefetch_options options) {
  FLOWRUN_CHECK(num_buffers > 0);
  core_ = std::make_shared<core>(manager, std::move(sequence), num_buffers, options);
  read_list reads;
  {
    std::lock_guard lock(core_->mutex);
    reads = core_->collect(true);
    if (reads.empty()) return;
    ++core_->num_submitting;
  }
  core_->submit(reads);
}

block_prefetcher::~block_prefetcher() {
  std::unique_lock lock(core_->mutex);
  core_->closed = true;
  core_->waiter = nullptr;
  core_->quiet.wait(lock, [&] { return core_->num_in_flight == 0 && core_->num_submitting == 0; });
}

outcome block_prefetcher::next(buffer& out, waker* waiter) {
  out.reset();
  if (core_->next_position == core_->sequence.size()) {
    std::lock_guard lock(core_->mutex);
    if (core_->failure) std::rethrow_exception(core_->failure);
    return outcome::done();
  }
  const fetch& wanted = core_->sequence[core_->next_position];
  core::slot* taken = core_->take_next(waiter);
  if (taken == nullptr) return outcome::blocked();
  try {
    prefetched_block result;
    struct held_buffer {};
    result.lease_ = std::allocate_shared<held_buffer>(core::lease_allocator<held_buffer>(core_, taken));
    core_->deliver(wanted, *taken, result);
    out = std::move(result);
  } catch (...) {
    std::lock_guard lock(core_->mutex);
    core_->failure = std::current_exception();
    throw;
  }
  return outcome::ready();
}

bool block_prefetcher::next(buffer& out) {
  for (;;) {
    blocking_waker waiter;
    if (const outcome o = next(out, &waiter); !o.is_blocked()) return o.is_ready();
    waiter.wait();
  }
}

uint64_t block_prefetcher::num_blocks() const { return core_->sequence.size(); }

uint64_t block_prefetcher::position() const { return core_->next_position; }

uint64_t block_prefetcher::num_given_up() const {
  std::lock_guard lock(core_->mutex);
  return core_->num_given_up;
}

}  // namespace flowrun::block
