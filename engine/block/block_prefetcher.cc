#include "engine/block/block_prefetcher.h"

#include <algorithm>
#include <bit>
#include <exception>
#include <set>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/mutex.h"
#include "engine/block/fetch_check.h"
#include "engine/io/transfer_pool.h"

namespace flowrun::block {

namespace {

constexpr uint32_t no_slot = UINT32_MAX;
constexpr unsigned most_in_batch = 8;

sequence_extent extent_of(const std::vector<fetch>& sequence) {
  sequence_extent extent{sequence.size()};
  for (const fetch& one : sequence) extent.longest_block = std::max(extent.longest_block, one.id.num_bytes);
  return extent;
}

// A block that was told and not handed out.
struct told_block {
  fetch what;
  uint32_t slot = no_slot;  // where it is in flight, there or held
};

}  // namespace

struct block_prefetcher::core final : io::transfer_pool {
  core(block_manager& blocks, const sequence_extent& whole, unsigned num_buffers, bool free_blocks)
      : transfer_pool(blocks.backend(), std::min<uint64_t>(num_buffers, whole.num_blocks), whole.longest_block),
        manager(blocks),
        extent(whole),
        free_after_read(free_blocks) {
    // With several disks, it isn't known here which disk's turn is next: a read that waits until there are enough for a
    // batch may leave its disk idle.
    if (manager.num_disks() == 1)
      company = std::clamp<unsigned>(static_cast<unsigned>(slots().size()) / 8, 1, most_in_batch);
  }

  void extend(std::span<const fetch> blocks, std::span<const uint64_t> next_of_order) {
    mutex_lock lock(mutex_);
    FLOWRUN_CHECK(blocks.size() <= extent.num_blocks - num_told);
    if (num_told == 0) is_ordered = !next_of_order.empty();
    FLOWRUN_CHECK(is_ordered || next_of_order.empty());
    make_room(blocks.size());
    if (is_ordered) {
      order.erase(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(num_issued_of_order));
      num_issued_of_order = 0;
      order.insert(order.end(), next_of_order.begin(), next_of_order.end());
    }
    for (const fetch& one : blocks) {
      FLOWRUN_CHECK(one.id.num_bytes <= extent.longest_block);
      at(num_told++) = {one, no_slot};
    }
    transfer_on();
  }

  // For so many more blocks.
  void make_room(size_t num_blocks) FLOWRUN_REQUIRES(mutex_) {
    const uint64_t needed = num_told - next_position + num_blocks;
    if (needed <= told.size()) return;
    std::vector<told_block> longer(std::bit_ceil(needed));
    for (uint64_t p = next_position; p < num_told; ++p) longer[p & (longer.size() - 1)] = at(p);
    told.swap(longer);
  }
  told_block& at(uint64_t position) { return told[position & (told.size() - 1)]; }

  // The next position to issue, or the number of blocks that were told.
  uint64_t next_to_issue() FLOWRUN_REQUIRES(mutex_) {
    const uint64_t num_known = is_ordered ? order.size() : num_told;
    for (; num_issued_of_order < num_known; ++num_issued_of_order) {
      const uint64_t position = is_ordered ? order[num_issued_of_order] : num_issued_of_order;
      if (position >= next_position && at(position).slot == no_slot && !given_up.contains(position))
        return given_up.empty() ? position : std::min(position, *given_up.begin());
    }
    return given_up.empty() ? num_told : *given_up.begin();
  }

  bool starves() FLOWRUN_REQUIRES(mutex_) { return next_position < num_told && at(next_position).slot == no_slot; }

  // Gives free buffers to the next blocks of the order, once there are enough of them for a batch.
  void choose(batch& to, bool goes_on) override FLOWRUN_REQUIRES(mutex_) {
    if (failure) return;
    const bool starving = starves();
    if (!goes_on && !starving && num_free() < company && num_in_flight() > 0) return;
    while (num_free() > 0 && !to.full()) {
      uint64_t position = next_to_issue();
      if (starving && starves() && (num_free() == 1 || position == num_told)) position = next_position;
      if (position == num_told) break;
      slot& one = *take_free();
      manager.prepare(one.transfer, at(position).what.id, io::direction::read, one.memory);
      begin(to, one, position);
      at(position).slot = one.number;
      given_up.erase(position);
    }
  }

  // When the next block has no buffer, one that another block gives up will do.
  bool arrived(slot& one) noexcept override FLOWRUN_REQUIRES(mutex_) {
    return one.position == next_position || starves();
  }
  bool came_back() noexcept override FLOWRUN_REQUIRES(mutex_) { return true; }

  // When the block needed next has no buffer and none is free: takes the one of the block that is there and needed
  // last.
  void give_up_latest() FLOWRUN_REQUIRES(mutex_) {
    slot* const latest = latest_done();
    if (latest == nullptr) return;
    given_up.insert(latest->position);
    ++num_given_up;
    at(latest->position).slot = no_slot;
    drop(*latest);
  }

  // The buffer with the next block, now held; null: blocked.
  slot* take_next(waker* who) {
    mutex_lock lock(mutex_);
    for (;;) {
      unblock();
      if (failure) std::rethrow_exception(failure);
      FLOWRUN_CHECK(next_position < num_told);
      const uint32_t number = at(next_position).slot;
      if (number != no_slot && slots()[number].now == state::done) {
        slots()[number].now = state::held;
        ++next_position;
        return &slots()[number];
      }
      if (number == no_slot && num_free() == 0) give_up_latest();
      if (transfer_on()) continue;
      block(who);
      return nullptr;
    }
  }

  outcome next(buffer& out, waker* waiter) {
    if (next_position == extent.num_blocks) {
      mutex_lock lock(mutex_);
      if (failure) std::rethrow_exception(failure);
      return outcome::done();
    }
    slot* const taken = take_next(waiter);
    if (taken == nullptr) return outcome::blocked();
    const fetch wanted = at(taken->position).what;
    std::shared_ptr<const void> lease = lend(*taken);
    try {
      const block_header header = check_fetched(manager, wanted, taken->transfer, taken->memory);
      if (free_after_read) manager.free(wanted.id);
      out = prefetched_block(std::move(lease), taken->memory, header);
    } catch (...) {
      mutex_lock lock(mutex_);
      failure = std::current_exception();
      throw;
    }
    return outcome::ready();
  }

  uint64_t count_given_up() const {
    mutex_lock lock(mutex_);
    return num_given_up;
  }

  block_manager& manager;
  const sequence_extent extent;
  const bool free_after_read;
  unsigned company = 1;  // of free buffers before reads are issued

  // Under the pool's lock; the consumer's thread alone changes what is told, and looks at it without.
  std::vector<told_block> told;  // a ring, by position: what is told from next_position on
  uint64_t num_told = 0;
  bool is_ordered = false;      // else the order is that of the sequence
  std::vector<uint64_t> order;  // of issuing, as far as it was told; its beginning may be forgotten
  // The order's first ones, which are issued (or skipped: issued before their turn); of the sequence, where that is the
  // order.
  uint64_t num_issued_of_order = 0;
  std::set<uint64_t> given_up;  // positions to be issued again
  uint64_t next_position = 0;
  uint64_t num_given_up = 0;
  std::exception_ptr failure;
};

block_prefetcher::block_prefetcher(block_manager& manager, const std::vector<fetch>& sequence, unsigned num_buffers,
                                   const prefetch_plan& plan)
    : block_prefetcher(manager, extent_of(sequence), num_buffers, plan.free_after_read) {
  extend(sequence, plan.order);
}

block_prefetcher::block_prefetcher(block_manager& manager, const sequence_extent& whole, unsigned num_buffers,
                                   bool free_after_read) {
  FLOWRUN_CHECK(num_buffers > 0);
  core_ = std::make_shared<core>(manager, whole, num_buffers, free_after_read);
}

block_prefetcher::~block_prefetcher() { core_->close(); }

outcome block_prefetcher::next(buffer& out, waker* waiter) {
  out.reset();
  return core_->next(out, waiter);
}

bool block_prefetcher::next(buffer& out) {
  for (;;) {
    blocking_waker waiter;
    if (const outcome o = next(out, &waiter); !o.is_blocked()) return o.is_ready();
    waiter.wait();
  }
}

void block_prefetcher::extend(std::span<const fetch> blocks, std::span<const uint64_t> order) {
  core_->extend(blocks, order);
}

uint64_t block_prefetcher::num_blocks() const { return core_->extent.num_blocks; }

uint64_t block_prefetcher::position() const { return core_->next_position; }

uint64_t block_prefetcher::num_given_up() const { return core_->count_given_up(); }

}  // namespace flowrun::block
