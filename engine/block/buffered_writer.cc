// Write-behind of blocks; see buffered_writer.h.
//
// I/O threads only mark a buffer as completed and wake. Results are looked at (and failed writes tried again elsewhere)
// by the thread that uses the writer, in reap(). Requests are submitted without the lock held: a backend may complete
// them before submit() returns, on the same thread.
#include "engine/block/buffered_writer.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/base/buffer.h"
#include "engine/base/error.h"

namespace flowrun::block {

namespace {

enum class slot_state : uint8_t { free, filling, in_flight, completed };

// Space of one disk that is allocated but not used yet, in one piece.
struct region {
  unsigned disk = 0;
  uint64_t offset = 0;
  uint64_t num_bytes = 0;

  block_id take(uint32_t block_bytes) {
    const block_id taken{disk, block_bytes, offset};
    offset += block_bytes;
    num_bytes -= block_bytes;
    return taken;
  }
};

}  // namespace

struct buffered_writer::core {
  struct slot final : waker {
    core* owner = nullptr;
    std::byte* memory = nullptr;
    io::request request;
    slot_state state = slot_state::free;
    uint64_t ticket = 0;
    unsigned num_retries = 0;

    // From an I/O thread, or from within submit().
    void wake() noexcept override { owner->completed(*this); }
  };

  core(block_manager& blocks, uint32_t num_bytes, unsigned num_buffers, unsigned blocks_in_bunch)
      : manager(blocks),
        block_bytes(num_bytes),
        bunch_blocks(blocks_in_bunch),
        slots(num_buffers),
        arena(size_t{num_buffers} * num_bytes),
        reserved(blocks.num_disks()) {
    for (size_t i = 0; i < slots.size(); ++i) {
      slots[i].owner = this;
      slots[i].memory = arena.data() + i * block_bytes;
      slots[i].request.on_done = &slots[i];
    }
  }

  block_manager& manager;
  const uint32_t block_bytes;
  const unsigned bunch_blocks;
  std::mutex mutex;  // guards the slots' states, num_in_flight, waiter and blocked_since
  std::condition_variable completion;
  std::vector<slot> slots;
  aligned_buffer arena;        // of all slots: large enough for huge pages
  unsigned num_in_flight = 0;  // states in_flight and completed
  waker* waiter = nullptr;
  uint64_t blocked_since = 0;  // the caller can't go on since then; 0: it can
  // Used by the caller's thread only.
  std::vector<region> reserved;  // by disk
  std::vector<block_id> results;
  std::exception_ptr first_error;

  void completed(slot& one) noexcept {
    // Woken and notified under the lock: the writer may die as soon as it sees that nothing is in flight.
    std::lock_guard lock(mutex);
    one.state = slot_state::completed;
    if (blocked_since != 0) {
      const uint64_t now = manager.backend().time().now();
      one.request.statistics->add_wait(io::direction::write, now - blocked_since);
      blocked_since = 0;
    }
    completion.notify_all();
    if (waiter != nullptr) std::exchange(waiter, nullptr)->wake();
  }

  // Under the lock: nothing is free, or not everything is written.
  void block(waker* who) {
    waiter = who;
    if (blocked_since == 0) blocked_since = manager.backend().time().now();
  }
  void unblock() {
    waiter = nullptr;
    blocked_since = 0;
  }

  // A block near the last one on its disk; on another disk, or one that was put aside, when there is no room.
  block_id allocate(unsigned disk, uint32_t num_bytes) {
    region& near = reserved[disk % reserved.size()];
    if (near.num_bytes >= num_bytes) return near.take(num_bytes);
    give_back(near);  // too short: it joins what is free behind it, so that blocks of any length lie without gaps
    try {
      const block_manager::bunch taken = manager.allocate(disk, num_bytes, bunch_blocks);
      region rest{taken.first.disk, taken.first.offset, uint64_t{taken.num_blocks} * num_bytes};
      const block_id first = rest.take(num_bytes);
      if (rest.num_bytes > 0) {
        give_back(reserved[rest.disk]);
        reserved[rest.disk] = rest;
      }
      return first;
    } catch (const error&) {
      for (region& other : reserved)
        if (other.num_bytes >= num_bytes) return other.take(num_bytes);
      throw;
    }
  }
  void give_back(region& unused) noexcept {
    while (unused.num_bytes > 0)
      manager.free(unused.take(static_cast<uint32_t>(std::min<uint64_t>(unused.num_bytes, block_bytes))));
  }
  void give_back_all() noexcept {
    for (region& unused : reserved) give_back(unused);
  }

  slot& slot_of(std::byte* buffer) {
    const auto offset = static_cast<size_t>(buffer - arena.data());
    FLOWRUN_CHECK(buffer >= arena.data() && offset < arena.num_bytes() && offset % block_bytes == 0);
    return slots[offset / block_bytes];
  }

  void start(slot& one, block_id id) {
    manager.prepare(one.request, id, io::direction::write, one.memory);
    manager.backend().submit(one.request);
  }

  // Looks at the results of completed writes. Starts failed ones again on another disk where that may help.
  void reap() {
    std::unique_lock lock(mutex);
    for (slot& one : slots) {
      if (one.state != slot_state::completed) continue;
      lock.unlock();
      const bool over = settle(one);
      lock.lock();
      if (!over) continue;
      one.state = slot_state::free;
      --num_in_flight;
    }
  }

  // True when the write has ended, well or not; false when it was started again.
  bool settle(slot& one) {
    block_id& id = results[one.ticket];
    const int cause = one.request.cause();
    try {
      const size_t written = one.request.take_result();
      if (written == id.num_bytes) return true;
      throw error(error_kind::io, fmt::format("can't write {} at offset {} of {}: only {} bytes were written",
                                              id.num_bytes, id.offset, manager.disk_path(id.disk), written));
    } catch (const error& failure) {
      // Out of memory or cancelled: not the disk's fault, and no other disk would do better.
      if (cause == ENOMEM || cause == ECANCELED || one.num_retries + 1 >= max_attempts()) {
        keep(std::current_exception());
        return true;
      }
      try {
        if (move_elsewhere(one, id, io::means_no_room(cause), failure)) return false;
        keep(std::current_exception());
        return true;
      } catch (const error& nowhere) {
        // The first failure is the cause; that there is no way round it is the rest of the story.
        keep(std::make_exception_ptr(
            error(failure.kind(), fmt::format("{} ({})", failure.what(), nowhere.what()), failure.hint())));
        return true;
      }
    }
  }

  // Each full disk is tried once, and once more in space that was written before.
  unsigned max_attempts() const { return 2 * manager.num_disks() + 1; }

  // False when the disk has failed and there is no other one.
  bool move_elsewhere(slot& one, block_id& id, bool full, const error& failure) {
    const unsigned next_disk = id.disk + 1;
    give_back(reserved[id.disk]);
    const block_id lost = std::exchange(id, {});
    if (full)
      manager.condemn(lost, failure.what());
    else if (!manager.retire(lost, failure.what()))
      return false;
    id = allocate(next_disk, lost.num_bytes);
    ++one.num_retries;
    {
      std::lock_guard lock(mutex);
      one.state = slot_state::in_flight;
    }
    start(one, id);
    return true;
  }

  void keep(std::exception_ptr failure) {
    if (!first_error) first_error = std::move(failure);
  }

  void rethrow() {
    if (first_error) std::rethrow_exception(first_error);
  }

  // Blocks until a completed write waits to be reaped (then true) or nothing is in flight.
  bool wait_for_completion() {
    std::unique_lock lock(mutex);
    bool found = false;
    completion.wait(lock, [&] {
      for (const slot& one : slots) found |= one.state == slot_state::completed;
      return found || num_in_flight == 0;
    });
    return found;
  }
};

buffered_writer::buffered_writer(block_manager& manager, uint32_t block_bytes, unsigned num_buffers,
                                 unsigned bunch_blocks) {
  FLOWRUN_CHECK(num_buffers >= 2 && block_bytes > 0 && block_bytes % io_alignment == 0 && bunch_blocks > 0);
  core_ = std::make_unique<core>(manager, block_bytes, num_buffers, bunch_blocks);
}

buffered_writer::~buffered_writer() {
  std::unique_lock lock(core_->mutex);
  core_->unblock();
  core_->completion.wait(lock, [&] {
    for (const core::slot& one : core_->slots) {
      if (one.state == slot_state::in_flight) return false;
    }
    return true;
  });
  lock.unlock();
  core_->give_back_all();
}

uint32_t buffered_writer::block_bytes() const { return core_->block_bytes; }

std::byte* buffered_writer::try_acquire(waker* waiter) {
  for (;;) {
    core_->reap();
    core_->rethrow();
    std::lock_guard lock(core_->mutex);
    bool may_reap = false;
    for (core::slot& one : core_->slots) {
      if (one.state == slot_state::free) {
        one.state = slot_state::filling;
        core_->unblock();
        return one.memory;
      }
      may_reap |= one.state == slot_state::completed;
    }
    if (may_reap) continue;  // completed since reap()
    core_->block(waiter);
    return nullptr;
  }
}

std::byte* buffered_writer::acquire() {
  for (;;) {
    if (std::byte* buffer = try_acquire(nullptr)) return buffer;
    // With all buffers being filled there is nothing to wait for.
    if (!core_->wait_for_completion()) internal_error("all buffers of a writer are acquired and none is submitted");
  }
}

void buffered_writer::release(std::byte* buffer) noexcept {
  std::lock_guard lock(core_->mutex);
  core_->slot_of(buffer).state = slot_state::free;
}

uint64_t buffered_writer::submit(std::byte* buffer, unsigned disk, const block_header& fields, uint32_t num_bytes) {
  FLOWRUN_CHECK(num_bytes > 0 && num_bytes <= core_->block_bytes && num_bytes % io_alignment == 0);
  core::slot& one = core_->slot_of(buffer);
  FLOWRUN_CHECK(one.state == slot_state::filling);
  block_id id;
  try {
    seal(buffer, num_bytes, fields);
    id = core_->allocate(disk, num_bytes);
    core_->results.push_back(id);
  } catch (...) {
    if (id.num_bytes != 0) core_->manager.free(id);
    release(buffer);
    throw;
  }
  one.ticket = core_->results.size() - 1;
  one.num_retries = 0;
  {
    std::lock_guard lock(core_->mutex);
    one.state = slot_state::in_flight;
    ++core_->num_in_flight;
  }
  core_->start(one, id);
  return one.ticket;
}

outcome buffered_writer::try_flush(waker* waiter) {
  for (;;) {
    core_->reap();
    std::lock_guard lock(core_->mutex);
    if (core_->num_in_flight == 0) break;
    bool may_reap = false;
    for (const core::slot& one : core_->slots) may_reap |= one.state == slot_state::completed;
    if (may_reap) continue;
    core_->block(waiter);
    return outcome::blocked();
  }
  core_->unblock();
  core_->give_back_all();
  core_->rethrow();
  return outcome::done();
}

void buffered_writer::flush() {
  while (try_flush(nullptr).is_blocked()) core_->wait_for_completion();
}

block_id buffered_writer::result(uint64_t ticket) const { return core_->results.at(ticket); }

uint64_t buffered_writer::num_submitted() const { return core_->results.size(); }

void buffered_writer::forget_results() {
  FLOWRUN_CHECK(core_->num_in_flight == 0);
  core_->results.clear();
}

}  // namespace flowrun::block
