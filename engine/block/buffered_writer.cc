// Write-behind of blocks; see buffered_writer.h.
//
// I/O threads only mark a buffer as done and wake (io/transfer_pool.h). Results are looked at (and failed writes tried
// again elsewhere) by the thread that uses the writer, in reap().
#include "engine/block/buffered_writer.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/mutex.h"
#include "engine/io/transfer_pool.h"

namespace flowrun::block {

namespace {

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

struct buffered_writer::core final : io::transfer_pool {
  core(block_manager& blocks, uint32_t num_bytes, unsigned num_buffers, unsigned blocks_in_bunch)
      : transfer_pool(blocks.backend(), num_buffers, num_bytes),
        manager(blocks),
        block_bytes(num_bytes),
        bunch_blocks(blocks_in_bunch),
        writes(num_buffers),
        reserved(blocks.num_disks()) {}

  struct write {
    uint64_t ticket = 0;
    unsigned num_retries = 0;
  };

  block_manager& manager;
  const uint32_t block_bytes;
  const unsigned bunch_blocks;
  // Used by the caller's thread only.
  std::vector<write> writes;      // by slot
  std::vector<region> reserved;   // by disk
  std::vector<block_id> results;  // of the tickets from first_ticket on
  uint64_t first_ticket = 0;
  std::exception_ptr first_error;
  slot* next FLOWRUN_GUARDED_BY(mutex_) = nullptr;  // to be written
  unsigned num_unsettled FLOWRUN_GUARDED_BY(mutex_) = 0;
  condition completion;

  void choose(batch& to, bool) override FLOWRUN_REQUIRES(mutex_) {
    if (next != nullptr) begin(to, *std::exchange(next, nullptr), 0);
  }
  // The caller waits for any.
  bool arrived(slot&) noexcept override FLOWRUN_REQUIRES(mutex_) {
    completion.notify_all();
    return true;
  }
  bool any_done() FLOWRUN_REQUIRES(mutex_) {
    return std::any_of(slots().begin(), slots().end(), [](const slot& one) { return one.now == state::done; });
  }

  std::byte* try_acquire(waker* waiter) {
    for (;;) {
      reap();
      rethrow();
      mutex_lock lock(mutex_);
      if (slot* const one = take_free()) {
        one->now = state::held;
        forget_wait();
        return one->memory;
      }
      if (any_done()) continue;  // since reap()
      block(waiter);
      return nullptr;
    }
  }

  outcome try_flush(waker* waiter) {
    for (;;) {
      reap();
      mutex_lock lock(mutex_);
      if (num_unsettled == 0) {
        forget_wait();
        break;
      }
      if (any_done()) continue;
      block(waiter);
      return outcome::blocked();
    }
    free_reserved();
    rethrow();
    return outcome::done();
  }

  void release(std::byte* buffer) noexcept { give_back(slot_at(buffer)); }

  uint64_t submit(std::byte* buffer, unsigned disk, const block_header& fields, uint32_t num_bytes) {
    slot& one = slot_at(buffer);
    FLOWRUN_CHECK(one.now == state::held);
    block_id id;
    try {
      seal(buffer, num_bytes, fields);
      id = allocate(disk, num_bytes);
      results.push_back(id);
    } catch (...) {
      if (id.num_bytes != 0) manager.free(id);
      give_back(one);
      throw;
    }
    const uint64_t ticket = num_submitted() - 1;
    writes[one.number] = {ticket, 0};
    {
      mutex_lock lock(mutex_);
      ++num_unsettled;
    }
    start(one, id);
    return ticket;
  }

  // A block near the last one on its disk; on another disk, or one that was put aside, when there is no room.
  block_id allocate(unsigned disk, uint32_t num_bytes) {
    region& near = reserved[disk % reserved.size()];
    if (near.num_bytes >= num_bytes) return near.take(num_bytes);
    free_rest(near);  // too short: it joins what is free behind it, so that blocks of any length lie without gaps
    try {
      const block_manager::bunch taken = manager.allocate(disk, num_bytes, bunch_blocks);
      region rest{taken.first.disk, taken.first.offset, uint64_t{taken.num_blocks} * num_bytes};
      const block_id first = rest.take(num_bytes);
      if (rest.num_bytes > 0) {
        free_rest(reserved[rest.disk]);
        reserved[rest.disk] = rest;
      }
      return first;
    } catch (const error&) {
      for (region& other : reserved)
        if (other.num_bytes >= num_bytes) return other.take(num_bytes);
      throw;
    }
  }
  void free_rest(region& unused) noexcept {
    while (unused.num_bytes > 0)
      manager.free(unused.take(static_cast<uint32_t>(std::min<uint64_t>(unused.num_bytes, block_bytes))));
  }
  void free_reserved() noexcept {
    for (region& unused : reserved) free_rest(unused);
  }

  void start(slot& one, block_id id) {
    manager.prepare(one.transfer, id, io::direction::write, one.memory);
    mutex_lock lock(mutex_);
    next = &one;
    transfer_on();
  }

  // Looks at the results of completed writes. Starts failed ones again on another disk where that may help.
  void reap() {
    mutex_lock lock(mutex_);
    for (slot& one : slots()) {
      if (one.now != state::done) continue;
      lock.unlock();
      const bool over = settle(one);
      if (over) give_back(one);
      lock.lock();
      if (over) --num_unsettled;
    }
  }

  // True when the write has ended, well or not; false when it was started again.
  bool settle(slot& one) {
    block_id& id = result(writes[one.number].ticket);
    const int cause = one.transfer.cause();
    try {
      const size_t written = one.transfer.take_result();
      if (written == id.num_bytes) return true;
      throw error(error_kind::io, fmt::format("can't write {} at offset {} of {}: only {} bytes were written",
                                              id.num_bytes, id.offset, manager.disk_path(id.disk), written));
    } catch (const error& failure) {
      // Out of memory or cancelled: not the disk's fault, and no other disk would do better.
      if (cause == ENOMEM || cause == ECANCELED || writes[one.number].num_retries + 1 >= max_attempts()) {
        keep(std::current_exception());
        return true;
      }
      try {
        if (move_elsewhere(one, id, io::means_no_room(cause), failure)) return false;
        keep(std::current_exception());
        return true;
      } catch (const error& nowhere) {
        // The first failure is the cause. That no other disk took the block is added to its message.
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
    free_rest(reserved[id.disk]);
    const block_id lost = std::exchange(id, {});
    if (full)
      manager.condemn(lost, failure.what());
    else if (!manager.retire(lost, failure.what()))
      return false;
    id = allocate(next_disk, lost.num_bytes);
    ++writes[one.number].num_retries;
    start(one, id);
    return true;
  }

  uint64_t num_written() {
    if (first_error) return 0;
    uint64_t first_open = num_submitted();
    mutex_lock lock(mutex_);
    for (const slot& one : slots())
      if (one.now == state::in_flight || one.now == state::done)
        first_open = std::min(first_open, writes[one.number].ticket);
    return first_open;
  }

  uint64_t num_submitted() const { return first_ticket + results.size(); }
  block_id& result(uint64_t ticket) {
    FLOWRUN_CHECK(ticket >= first_ticket);
    return results.at(ticket - first_ticket);
  }

  void forget_results_below(uint64_t ticket) {
    FLOWRUN_CHECK(ticket >= first_ticket && (ticket == first_ticket || ticket <= num_written()));
    results.erase(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(ticket - first_ticket));
    first_ticket = ticket;
  }

  void forget_results() {
    mutex_lock lock(mutex_);
    FLOWRUN_CHECK(num_unsettled == 0);
    results.clear();
    first_ticket = 0;
  }

  void keep(std::exception_ptr failure) {
    if (!first_error) first_error = std::move(failure);
  }

  void rethrow() {
    if (first_error) std::rethrow_exception(first_error);
  }

  // Blocks until a completed write waits to be reaped (then true) or nothing is in flight.
  bool wait_for_completion() {
    mutex_lock lock(mutex_);
    completion.wait(lock, [&]() FLOWRUN_REQUIRES(mutex_) { return any_done() || num_unsettled == 0; });
    return any_done();
  }
};

buffered_writer::buffered_writer(block_manager& manager, uint32_t block_bytes, unsigned num_buffers,
                                 unsigned bunch_blocks) {
  FLOWRUN_CHECK(num_buffers >= 1 && block_bytes > 0 && block_bytes % io_alignment == 0 && bunch_blocks > 0);
  core_ = std::make_unique<core>(manager, block_bytes, num_buffers, bunch_blocks);
}

buffered_writer::~buffered_writer() {
  core_->close();
  core_->free_reserved();
}

uint32_t buffered_writer::block_bytes() const { return core_->block_bytes; }

std::byte* buffered_writer::try_acquire(waker* waiter) { return core_->try_acquire(waiter); }

std::byte* buffered_writer::acquire() {
  for (;;) {
    if (std::byte* buffer = try_acquire(nullptr)) return buffer;
    // With all buffers being filled there is nothing to wait for.
    if (!core_->wait_for_completion()) internal_error("all buffers of a writer are acquired and none is submitted");
  }
}

void buffered_writer::release(std::byte* buffer) noexcept { core_->release(buffer); }

uint64_t buffered_writer::submit(std::byte* buffer, unsigned disk, const block_header& fields, uint32_t num_bytes) {
  FLOWRUN_CHECK(num_bytes > 0 && num_bytes <= core_->block_bytes && num_bytes % io_alignment == 0);
  return core_->submit(buffer, disk, fields, num_bytes);
}

outcome buffered_writer::try_flush(waker* waiter) { return core_->try_flush(waiter); }

void buffered_writer::flush() {
  while (try_flush(nullptr).is_blocked()) core_->wait_for_completion();
}

block_id buffered_writer::result(uint64_t ticket) const { return core_->result(ticket); }

uint64_t buffered_writer::num_written() const { return core_->num_written(); }

uint64_t buffered_writer::num_submitted() const { return core_->num_submitted(); }

void buffered_writer::forget_results_below(uint64_t ticket) { core_->forget_results_below(ticket); }

void buffered_writer::forget_results() { core_->forget_results(); }

}  // namespace flowrun::block
