#include "engine/block/block_prefetcher.h"

#include <algorithm>
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

uint32_t longest_of(const std::vector<fetch>& sequence) {
  uint32_t longest = 0;
  for (const fetch& one : sequence) longest = std::max(longest, one.id.num_bytes);
  return longest;
}

}  // namespace

struct block_prefetcher::core final : io::transfer_pool {
  core(block_manager& blocks, std::vector<fetch> fetches, unsigned num_buffers, prefetch_plan how)
      : transfer_pool(blocks.backend(), std::min<size_t>(num_buffers, fetches.size()), longest_of(fetches)),
        manager(blocks),
        plan(std::move(how)),
        sequence(std::move(fetches)),
        slot_of(sequence.size(), no_slot) {
    // With several disks, it isn't known here which disk's turn is next: a read that waits until there are enough for a
    // batch may leave its disk idle.
    if (manager.num_disks() == 1)
      company = std::clamp<unsigned>(static_cast<unsigned>(slots().size()) / 8, 1, most_in_batch);
  }

  void start() {
    mutex_lock lock(mutex_);
    transfer_on();
  }

  // The next position to issue, or sequence.size().
  uint64_t next_to_issue() FLOWRUN_REQUIRES(mutex_) {
    while (num_ordered < sequence.size()) {
      const uint64_t position = plan.order.empty() ? num_ordered : plan.order[num_ordered];
      if (position >= next_position && slot_of[position] == no_slot && !given_up.contains(position))
        return given_up.empty() ? position : std::min(position, *given_up.begin());
      ++num_ordered;
    }
    return given_up.empty() ? sequence.size() : *given_up.begin();
  }

  bool starves() const FLOWRUN_REQUIRES(mutex_) {
    return next_position < sequence.size() && slot_of[next_position] == no_slot;
  }

  // Gives free buffers to the next blocks of the order, once there are enough of them for a batch.
  void choose(batch& to, bool goes_on) override FLOWRUN_REQUIRES(mutex_) {
    if (failure) return;
    const bool starving = starves();
    if (!goes_on && !starving && num_free() < company && num_in_flight() > 0) return;
    while (num_free() > 0 && !to.full()) {
      uint64_t position = next_to_issue();
      if (position == sequence.size()) break;
      if (starving && num_free() == 1 && starves()) position = next_position;
      slot& one = *take_free();
      manager.prepare(one.transfer, sequence[position].id, io::direction::read, one.memory);
      begin(to, one, position);
      slot_of[position] = one.number;
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
    slot_of[latest->position] = no_slot;
    drop(*latest);
  }

  // The buffer with the next block, now held; null: blocked.
  slot* take_next(waker* who) {
    mutex_lock lock(mutex_);
    for (;;) {
      unblock();
      if (failure) std::rethrow_exception(failure);
      const uint32_t at = slot_of[next_position];
      if (at != no_slot && slots()[at].now == state::done) {
        slots()[at].now = state::held;
        ++next_position;
        return &slots()[at];
      }
      if (at == no_slot && num_free() == 0) give_up_latest();
      if (transfer_on()) continue;
      block(who);
      return nullptr;
    }
  }

  outcome next(buffer& out, waker* waiter) {
    if (next_position == sequence.size()) {
      mutex_lock lock(mutex_);
      if (failure) std::rethrow_exception(failure);
      return outcome::done();
    }
    slot* const taken = take_next(waiter);
    if (taken == nullptr) return outcome::blocked();
    const fetch& wanted = sequence[taken->position];
    std::shared_ptr<const void> lease = lend(*taken);
    try {
      const block_header header = check_fetched(manager, wanted, taken->transfer, taken->memory);
      if (plan.free_after_read) manager.free(wanted.id);
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
  const prefetch_plan plan;
  const std::vector<fetch> sequence;
  unsigned company = 1;  // of free buffers before reads are issued

  // Under the pool's lock.
  std::vector<uint32_t> slot_of;  // by position: where it is in flight, there or held
  uint64_t num_ordered = 0;       // the order's first ones, which are issued (or skipped: issued before their turn)
  std::set<uint64_t> given_up;    // positions to be issued again
  uint64_t next_position = 0;
  uint64_t num_given_up = 0;
  std::exception_ptr failure;
};

block_prefetcher::block_prefetcher(block_manager& manager, std::vector<fetch> sequence, unsigned num_buffers,
                                   prefetch_plan plan) {
  FLOWRUN_CHECK(num_buffers > 0);
  core_ = std::make_shared<core>(manager, std::move(sequence), num_buffers, std::move(plan));
  core_->start();
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

uint64_t block_prefetcher::num_blocks() const { return core_->sequence.size(); }

uint64_t block_prefetcher::position() const { return core_->next_position; }

uint64_t block_prefetcher::num_given_up() const { return core_->count_given_up(); }

}  // namespace flowrun::block
