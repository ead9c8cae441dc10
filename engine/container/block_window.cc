#include "engine/container/block_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/buffer.h"
#include "engine/base/error.h"

namespace flowrun::container {

namespace {

enum class slot_state : uint8_t { free, in_flight, ready, held };

constexpr size_t most_in_submit = 16;

}  // namespace

// Shared by the window and the leases of the buffers that the consumer holds.
struct block_window::core : std::enable_shared_from_this<core> {
  struct slot final : waker {
    core* owner = nullptr;
    std::byte* memory = nullptr;
    io::request request;
    slot_state state = slot_state::free;
    uint64_t position = 0;

    // From an I/O thread, or from within submit().
    void wake() noexcept override { owner->completed(*this); }
  };

  // Gives the buffer back when the last owner lets go.
  struct lease {
    std::shared_ptr<core> owner;
    slot* held;
    lease(std::shared_ptr<core> from, slot* one) : owner(std::move(from)), held(one) {}
    ~lease() { owner->give_back(*held); }
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;
  };

  core(block::block_manager& blocks, fetch_of where_of, uint64_t count, uint32_t longest_block, unsigned num_buffers)
      : manager(blocks),
        where(std::move(where_of)),
        num_blocks(count),
        slots(static_cast<size_t>(std::min<uint64_t>(num_buffers, count))),
        window(slots.size()) {
    const size_t slot_bytes = round_up(longest_block, io_alignment);
    arena = aligned_buffer(slots.size() * slot_bytes);
    for (size_t i = 0; i < slots.size(); ++i) {
      slots[i].owner = this;
      slots[i].memory = arena.data() + i * slot_bytes;
      slots[i].request.on_done = &slots[i];
    }
  }

  block::block_manager& manager;
  const fetch_of where;
  const uint64_t num_blocks;
  aligned_buffer arena;

  std::mutex mutex;               // guards everything below
  std::condition_variable quiet;  // nothing is in flight any more
  std::vector<slot> slots;
  uint64_t next_position = 0;
  uint64_t window;                // blocks from next_position on that are worth reading …
  bool skipped = false;           // the next one is the first since blocks were left out
  std::deque<uint64_t> expected;  // … but while there are any, these are, ascending
  uint64_t num_read = 0;
  unsigned num_in_flight = 0;
  unsigned num_submitting = 0;  // threads inside submit(): 0 or 1
  waker* waiter = nullptr;
  uint64_t blocked_since = 0;  // the consumer waits since then; 0: it doesn't
  std::exception_ptr failure;

  // Under the lock.
  slot* find(uint64_t position, slot_state state) {
    for (slot& one : slots)
      if (one.state == state && one.position == position) return &one;
    return nullptr;
  }
  slot* find_free() {
    for (slot& one : slots)
      if (one.state == slot_state::free) return &one;
    return nullptr;
  }
  bool is_here_or_coming(uint64_t position) {
    return find(position, slot_state::ready) != nullptr || find(position, slot_state::in_flight) != nullptr;
  }

  // Under the lock: the next block to read, or num_blocks. `asked`: the consumer waits for the next one of all.
  uint64_t next_to_issue(bool asked) {
    if (asked && next_position < num_blocks && !is_here_or_coming(next_position)) return next_position;
    while (!expected.empty()) {
      const uint64_t position = expected.front();
      if (position >= next_position && !is_here_or_coming(position)) return position;
      expected.pop_front();
      if (expected.empty()) window = 0;
    }
    const uint64_t end = std::min(num_blocks, next_position + window);
    for (uint64_t position = next_position; position < end; ++position)
      if (!is_here_or_coming(position)) return position;
    return num_blocks;
  }

  // Under the lock: what shall be read now.
  size_t collect(std::array<io::request*, most_in_submit>& reads, bool asked) {
    size_t num_reads = 0;
    while (num_reads < most_in_submit) {
      slot* one = find_free();
      if (one == nullptr) break;
      const uint64_t position = next_to_issue(asked);
      if (position == num_blocks) break;
      manager.prepare(one->request, where(position).id, io::direction::read, one->memory);
      one->state = slot_state::in_flight;
      one->position = position;
      reads[num_reads++] = &one->request;
    }
    num_in_flight += static_cast<unsigned>(num_reads);
    num_read += num_reads;
    return num_reads;
  }

  // Under the lock, when the next block has no buffer and none is free: takes the one that is needed last, to be read
  // again when its turn comes. False: all are held or in flight.
  bool give_up_latest() {
    slot* latest = nullptr;
    for (slot& one : slots)
      if (one.state == slot_state::ready && (latest == nullptr || one.position > latest->position)) latest = &one;
    if (latest == nullptr) return false;
    if (!expected.empty())
      expected.insert(std::lower_bound(expected.begin(), expected.end(), latest->position), latest->position);
    drop(*latest);
    return true;
  }

  // Submits all that is worth reading. A backend may complete a read before submit() returns, on this thread.
  void issue(bool asked) {
    for (;;) {
      std::array<io::request*, most_in_submit> reads;
      size_t num_reads = 0;
      {
        std::lock_guard lock(mutex);
        num_reads = collect(reads, asked);
        if (num_reads == 0) return;
        ++num_submitting;
      }
      manager.backend().submit(std::span(reads.data(), num_reads));
      std::lock_guard lock(mutex);
      --num_submitting;
      if (num_submitting == 0 && num_in_flight == 0) quiet.notify_all();
    }
  }

  void completed(slot& one) noexcept {
    // Woken and notified under the lock: the window may die as soon as it sees that nothing is in flight.
    std::lock_guard lock(mutex);
    one.state = slot_state::ready;
    --num_in_flight;
    if (one.position < next_position) drop(one);
    const bool awaited = one.position == next_position || find(next_position, slot_state::in_flight) == nullptr;
    if (awaited && blocked_since != 0) {
      one.request.statistics->add_wait(io::direction::read, manager.backend().time().now() - blocked_since);
      blocked_since = 0;
    }
    if (awaited && waiter != nullptr) std::exchange(waiter, nullptr)->wake();
    if (num_submitting == 0 && num_in_flight == 0) quiet.notify_all();
  }

  // Under the lock: a block that nobody wants any more.
  static void drop(slot& one) noexcept {
    try {
      one.request.take_result();
    } catch (const error&) {  // it would have failed: all the better that nobody wants it
    }
    one.state = slot_state::free;
  }

  void give_back(slot& one) noexcept {
    std::lock_guard lock(mutex);
    one.state = slot_state::free;
    if (waiter != nullptr) std::exchange(waiter, nullptr)->wake();
  }

  // The buffer with the next block, now held; null: blocked.
  slot* take_next(waker& w) {
    for (;;) {
      issue(true);
      std::lock_guard lock(mutex);
      waiter = nullptr;
      if (failure) std::rethrow_exception(failure);
      if (slot* there = find(next_position, slot_state::ready)) {
        there->state = slot_state::held;
        ++next_position;
        if (!std::exchange(skipped, false)) window = std::clamp<uint64_t>(window * 2, 1, slots.size());
        return there;
      }
      // A buffer that came back just now wakes nobody: look again.
      if (find(next_position, slot_state::in_flight) == nullptr && (find_free() != nullptr || give_up_latest()))
        continue;
      waiter = &w;
      if (blocked_since == 0) blocked_since = manager.backend().time().now();
      return nullptr;
    }
  }

  // Checks what was read.
  void deliver(slot& one, block::prefetched_block& out) {
    const block::fetch& wanted = where(one.position);
    const size_t num_bytes = one.request.take_result();
    const std::string& path = manager.disk_path(wanted.id.disk);
    if (num_bytes != wanted.id.num_bytes)
      throw error(error_kind::io,
                  fmt::format("scratch block damaged: {} at offset {}: block {} of stream {} has {} bytes but {} were "
                              "read",
                              path, wanted.id.offset, wanted.index, wanted.stream, wanted.id.num_bytes, num_bytes),
                  "the scratch file was cut off: run the job again");
    const block::block_header header = block::verify(
        one.memory, wanted.id.num_bytes, {wanted.stream, wanted.index, wanted.generation, path, wanted.id.offset});
    out = block::prefetched_block(std::make_shared<lease>(shared_from_this(), &one), one.memory, header);
  }
};

block_window::block_window(block::block_manager& manager, fetch_of where, uint64_t num_blocks, uint32_t longest_block,
                           unsigned num_buffers) {
  FLOWRUN_CHECK(num_buffers >= 2);
  core_ = std::make_shared<core>(manager, std::move(where), num_blocks, longest_block, num_buffers);
}

block_window::~block_window() {
  std::unique_lock lock(core_->mutex);
  core_->waiter = nullptr;
  core_->quiet.wait(lock, [&] { return core_->num_in_flight == 0 && core_->num_submitting == 0; });
}

outcome block_window::next(block::prefetched_block& out, waker& w) {
  out.reset();
  core& c = *core_;
  if (c.next_position == c.num_blocks) return outcome::done();
  core::slot* taken = c.take_next(w);
  if (taken == nullptr) return outcome::blocked();
  try {
    c.deliver(*taken, out);
  } catch (...) {
    std::lock_guard lock(c.mutex);
    c.failure = std::current_exception();
    throw;
  }
  c.issue(false);
  return outcome::ready();
}

void block_window::start() { core_->issue(false); }

void block_window::skip_to(uint64_t position) {
  core& c = *core_;
  std::lock_guard lock(c.mutex);
  if (c.failure) return;  // next() says so
  FLOWRUN_CHECK(position >= c.next_position && position <= c.num_blocks);
  if (position == c.next_position) return;
  c.next_position = position;
  c.waiter = nullptr;
  c.blocked_since = 0;
  for (core::slot& one : c.slots)
    if (one.state == slot_state::ready && one.position < position) core::drop(one);
  while (!c.expected.empty() && c.expected.front() < position) c.expected.pop_front();
  c.window = 0;
  c.skipped = true;
}

void block_window::expect(std::span<const uint64_t> positions) {
  {
    std::lock_guard lock(core_->mutex);
    core_->expected.assign(positions.begin(), positions.end());
  }
  core_->issue(false);
}

uint64_t block_window::position() const {
  std::lock_guard lock(core_->mutex);
  return core_->next_position;
}

uint64_t block_window::num_read() const {
  std::lock_guard lock(core_->mutex);
  return core_->num_read;
}

}  // namespace flowrun::container
