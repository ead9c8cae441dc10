#include "engine/container/external_queue.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/mutex.h"
#include "engine/base/units.h"
#include "engine/block/block_prefetcher.h"
#include "engine/block/prefetch_order.h"
#include "engine/container/lent_blocks.h"
#include "engine/container/row_page.h"
#include "engine/container/sleepers.h"
#include "engine/kernels/wide_rows.h"
#include "engine/runs/run_writer.h"
#include "engine/sizes/container_block.h"

namespace flowrun::container {

namespace {

// Rows may be a slice of a larger batch, of a whole run that a sort had in memory, or of what a filter has read, all of
// which they would keep alive. So they get memory of their own, which is what the queue counts. Rows that share a text,
// of which each would get a copy then, stay where they are. So do long rows, which are most of what they keep alive:
// several queues may hold the same ones.
record::batch with_own_memory(const kernels::wide_rows& rows, record::batch b) {
  constexpr size_t most_copied = MiB;
  const size_t rows_bytes = b.num_rows * b.row_bytes, num_bytes = stored_bytes(rows, b);
  if (num_bytes == 0 || num_bytes > b.num_bytes() || (rows.has_strings() && num_bytes > most_copied)) return b;
  const std::shared_ptr<std::byte[]> memory = std::make_shared_for_overwrite<std::byte[]>(num_bytes);
  std::byte* const heap = memory.get() + rows_bytes;
  if (rows.has_strings()) {
    size_t heap_end = num_bytes - rows_bytes;
    for (size_t i = 0; i < b.num_rows; ++i)
      heap_end = rows.place(b.row(i), b.heap, heap, memory.get() + i * b.row_bytes, heap_end);
    b.heap = heap;
    b.heap_bytes = num_bytes - rows_bytes;
  } else {
    std::memcpy(memory.get(), b.rows, rows_bytes);
    b.heap = nullptr;
    b.heap_bytes = 0;
  }
  b.rows = memory.get();
  b.owner = memory;
  return b;
}

// What a batch takes in the queue.
uint64_t bytes_of(const record::batch& b) { return b.num_bytes() + sizeof(record::batch); }

}  // namespace

struct external_queue::core {
  core(const record::row_type& type, block::block_manager& manager, uint64_t memory_bytes, uint64_t kept_bytes)
      : blocks(manager),
        rows(type, {}),
        memory_bytes(memory_bytes),
        block_bytes(sizes::container_block(type.row_bytes(), sizes::choose_block(memory_bytes))) {
    row_memory = sizes::rows_of_queue(memory_bytes, kept_bytes, block_bytes);
  }

  ~core() {
    reader.reset();
    for (const runs::run& segment : segments) free(segment, 0);
    if (reading) free(*reading, blocks_read);
    // What the writer still has is freed once it is on the disks.
    if (!writer) return;
    blocking_waker done;
    try {
      while (writer->flush(&done).is_blocked()) done.wait();
      for (const runs::run& segment : writer->take()) free(segment, 0);
    } catch (const std::exception&) {  // the job has failed; the manager goes with it
    }
  }

  void free(const runs::run& segment, size_t from) {
    for (size_t i = from; i < segment.blocks.size(); ++i) blocks.free(segment.blocks[i].id);
  }

  void submit_block() FLOWRUN_REQUIRES(mutex) {
    if (num_rows == 0) return;
    const uint32_t rows_in_block = std::exchange(num_rows, 0);
    writer->submit(rows_in_block, static_cast<uint32_t>(front_bytes),
                   static_cast<uint32_t>(writer->payload_bytes() - heap_end), 0);
    spilled += writer->payload_bytes();
  }

  // Ends the segment being written. blocked: it is on its way to the disks. Either side may begin it and the other end
  // it.
  outcome close_segment() FLOWRUN_REQUIRES(mutex) {
    submit_block();
    closing = true;
    if (const outcome o = writer->flush(&asleep); o.is_blocked()) return o;
    closing = false;
    for (runs::run& segment : writer->take()) segments.push_back(std::move(segment));
    writer.reset();
    asleep.wake();
    return outcome::done();
  }

  void open_segment(size_t longest_row) FLOWRUN_REQUIRES(mutex) {
    const uint64_t needed = sizes::block_for_row(longest_row, block_bytes);
    if (needed > sizes::longest_stored_block)
      throw error(error_kind::bad_data,
                  fmt::format("a row of {} is too long to go to scratch", format_bytes(longest_row)),
                  "split it into several rows, or raise the memory budget so that the rows stay in memory");
    const unsigned num_buffers = sizes::buffers_of_queue(needed, memory_bytes).write;
    writer.emplace(blocks, static_cast<uint32_t>(needed), num_buffers);
    writer_bytes = num_buffers * needed;
    writer->begin_run();
  }

  outcome spill(record::batch& b) FLOWRUN_REQUIRES(mutex) {
    if (closing)
      if (const outcome o = close_segment(); o.is_blocked()) return o;
    while (b.num_rows > 0) {
      const size_t needed = rows.row_bytes() + rows.heap_bytes(b.rows);
      if (writer && needed > writer->payload_bytes())
        if (const outcome o = close_segment(); o.is_blocked()) return o;
      if (!writer) open_segment(needed);
      std::byte* payload = writer->payload(&asleep);
      if (payload == nullptr) return outcome::blocked();
      if (num_rows == 0) {
        front_bytes = 0;
        heap_end = writer->payload_bytes();
      }
      if (front_bytes + needed > heap_end) {
        submit_block();
        continue;
      }
      heap_end = rows.place(b.rows, b.heap, payload, payload + front_bytes, heap_end);
      front_bytes += rows.row_bytes();
      ++num_rows;
      b.rows += b.row_bytes;
      --b.num_rows;
      ++b.first_row;
    }
    return outcome::ready();
  }

  outcome push(record::batch& b) FLOWRUN_REQUIRES(mutex) {
    const bool all_in_memory = !writer && segments.empty() && !reading;
    if (!all_in_memory || memory_used + bytes_of(b) > row_memory) return spill(b);
    memory.push_back(with_own_memory(rows, std::move(b)));
    memory_used += bytes_of(memory.back());
    return outcome::ready();
  }

  // The next batch from scratch into `current`.
  outcome read() FLOWRUN_REQUIRES(mutex) {
    for (;;) {
      if (reader) {
        block::prefetched_block next;
        const outcome s = reader->next(next, &asleep);
        if (s.is_blocked()) return s;
        if (s.is_ready()) {
          ++blocks_read;
          current = lent.rows_of(next, rows.row_bytes(), rows.has_strings(), [](size_t num_bytes) {
            return std::make_shared_for_overwrite<std::byte[]>(num_bytes);
          });
          return outcome::ready();
        }
        reader.reset();
        reading.reset();
      }
      if (!segments.empty()) {
        reading.emplace(std::move(segments.front()));
        segments.pop_front();
        blocks_read = 0;
        const unsigned num_buffers = sizes::buffers_of_queue(reading->block_bytes, memory_bytes).read;
        lent.allow(num_buffers / 2);  // the others keep the reader going
        std::vector<block::fetch> sequence;
        for (size_t i = 0; i < reading->blocks.size(); ++i)
          sequence.push_back({reading->blocks[i].id, reading->stream, i, 0});
        block::prefetch_plan plan{block::prefetch_order(sequence, blocks.weights(), num_buffers), true};
        reader.emplace(blocks, std::move(sequence), num_buffers, std::move(plan));
      } else if (writer) {
        if (const outcome o = close_segment(); o.is_blocked()) return o;
      } else {
        return outcome::done();
      }
    }
  }

  outcome front(const record::batch*& out) FLOWRUN_REQUIRES(mutex) {
    if (!memory.empty()) {
      out = &memory.front();
      return outcome::ready();
    }
    if (!current) {
      const outcome s = read();
      if (s.is_done() && !closed) return outcome::blocked(blocked_on::input);
      if (!s.is_ready()) return s;
    }
    out = &*current;
    return outcome::ready();
  }

  // What one end threw, the other shall hear too, instead of waiting or of reading a stream with a gap. Not analysed:
  // the analysis doesn't know that the caller's `c.mutex` is this one.
  template <class Act>
  outcome unless_failed(Act&& act) FLOWRUN_REQUIRES(mutex) FLOWRUN_NO_THREAD_SAFETY_ANALYSIS {
    if (failure) std::rethrow_exception(failure);
    try {
      return act();
    } catch (...) {
      failure = std::current_exception();
      asleep.wake();
      throw;
    }
  }

  block::block_manager& blocks;
  const kernels::wide_rows rows;
  const uint64_t memory_bytes;
  const uint32_t block_bytes;
  uint64_t row_memory = 0;

  sleepers asleep;  // outlives the writer and the reader

  mutable flowrun::mutex mutex;
  bool closed FLOWRUN_GUARDED_BY(mutex) = false;
  std::exception_ptr failure FLOWRUN_GUARDED_BY(mutex);
  std::deque<record::batch> memory FLOWRUN_GUARDED_BY(mutex);
  uint64_t memory_used FLOWRUN_GUARDED_BY(mutex) = 0;
  uint64_t spilled FLOWRUN_GUARDED_BY(mutex) = 0;
  // The segment being written.
  std::optional<runs::run_writer> writer FLOWRUN_GUARDED_BY(mutex);
  uint64_t writer_bytes FLOWRUN_GUARDED_BY(mutex) = 0;  // of its buffers
  bool closing FLOWRUN_GUARDED_BY(mutex) = false;       // its last block is on its way: no more rows
  uint32_t num_rows FLOWRUN_GUARDED_BY(mutex) = 0;
  size_t front_bytes FLOWRUN_GUARDED_BY(mutex) = 0;
  size_t heap_end FLOWRUN_GUARDED_BY(mutex) = 0;
  // Written ones, and the one being read.
  std::deque<runs::run> segments FLOWRUN_GUARDED_BY(mutex);
  std::optional<runs::run> reading FLOWRUN_GUARDED_BY(mutex);
  size_t blocks_read FLOWRUN_GUARDED_BY(mutex) = 0;
  std::optional<block::block_prefetcher> reader FLOWRUN_GUARDED_BY(mutex);
  std::optional<record::batch> current FLOWRUN_GUARDED_BY(mutex);
  lent_blocks lent FLOWRUN_GUARDED_BY(mutex);
};

external_queue::external_queue(const record::row_type& type, block::block_manager& blocks, uint64_t memory_bytes,
                               uint64_t kept_bytes)
    : core_(std::make_unique<core>(type, blocks, memory_bytes, kept_bytes)) {}
external_queue::~external_queue() = default;

outcome external_queue::push(record::batch& b, waker& w) {
  core& c = *core_;
  mutex_lock lock(c.mutex);
  c.asleep.set_producer(&w);
  const outcome s = c.unless_failed([&]() FLOWRUN_REQUIRES(c.mutex) { return c.push(b); });
  if (!s.is_blocked()) c.asleep.set_producer(nullptr);
  c.asleep.wake_consumer();
  return s;
}

void external_queue::close() {
  core& c = *core_;
  mutex_lock lock(c.mutex);
  c.closed = true;
  c.asleep.wake_consumer();
}

outcome external_queue::settle(waker& w) {
  core& c = *core_;
  mutex_lock lock(c.mutex);
  FLOWRUN_CHECK(c.closed);
  c.asleep.set_producer(&w);
  const outcome s =
      c.unless_failed([&]() FLOWRUN_REQUIRES(c.mutex) { return c.writer ? c.close_segment() : outcome::done(); });
  if (!s.is_blocked()) c.asleep.set_producer(nullptr);
  return s;
}

outcome external_queue::front(const record::batch*& out, waker& w) {
  core& c = *core_;
  mutex_lock lock(c.mutex);
  c.asleep.set_consumer(&w);
  const outcome s = c.unless_failed([&]() FLOWRUN_REQUIRES(c.mutex) { return c.front(out); });
  if (!s.is_blocked()) c.asleep.set_consumer(nullptr);
  return s;
}

void external_queue::pop() {
  core& c = *core_;
  std::optional<record::batch> dead;  // dies outside the lock
  mutex_lock lock(c.mutex);
  if (!c.memory.empty()) {
    dead = std::move(c.memory.front());
    c.memory.pop_front();
    c.memory_used -= bytes_of(*dead);
  } else {
    dead.swap(c.current);
  }
}

void external_queue::forget_wakers() {
  core_->asleep.set_producer(nullptr);
  core_->asleep.set_consumer(nullptr);
}

uint64_t external_queue::memory_bytes() const {
  mutex_lock lock(core_->mutex);
  return core_->memory_used + (core_->writer ? core_->writer_bytes : 0);
}

uint64_t external_queue::spilled_bytes() const {
  mutex_lock lock(core_->mutex);
  return core_->spilled;
}

}  // namespace flowrun::container
