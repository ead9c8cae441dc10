#include "engine/container/external_queue.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/base/units.h"
#include "engine/sort/run_writer.h"
#include "engine/sort/wide_rows.h"

namespace flowrun::container {

namespace {

constexpr unsigned num_write_buffers = 2;
constexpr unsigned num_read_buffers = 4;

uint32_t choose_block(uint64_t memory_bytes) {
  return static_cast<uint32_t>(std::clamp<uint64_t>(std::bit_floor(std::max<uint64_t>(memory_bytes / 16, 1)), 4 * KiB, MiB));
}

}  // namespace

struct external_queue::core {
  core(const record::row_type& type, block::block_manager& manager, uint64_t memory_bytes)
      : blocks(manager), rows(type, {}), block_bytes(choose_block(memory_bytes)) {
    const uint64_t buffers = uint64_t{num_write_buffers + num_read_buffers} * block_bytes;
    row_memory = memory_bytes > buffers ? memory_bytes - buffers : 0;
  }

  ~core() {
    reader.reset();
    for (const sort::run& segment : segments) free(segment, 0);
    if (reading) free(*reading, blocks_read);
    // What the writer still has is freed once it is on the disks.
    if (!writer) return;
    blocking_waker done;
    try {
      while (!writer->flush(&done)) done.wait();
      for (const sort::run& segment : writer->take()) free(segment, 0);
    } catch (const std::exception&) {  // the job has failed; the manager goes with it
    }
  }

  void free(const sort::run& segment, size_t from) {
    for (size_t i = from; i < segment.blocks.size(); ++i) blocks.free(segment.blocks[i].id);
  }

  void wake(waker*& sleeper) {
    if (sleeper != nullptr) std::exchange(sleeper, nullptr)->wake();
  }

  void submit_block() {
    if (num_rows == 0) return;
    writer->submit(num_rows, static_cast<uint32_t>(front_bytes), static_cast<uint32_t>(writer->payload_bytes() - heap_end), 0);
    spilled += writer->payload_bytes();
    num_rows = 0;
  }

  // Ends the segment being written; false while it is on its way to the disks.
  bool close_segment(waker& w) {
    submit_block();
    closing = true;
    if (!writer->flush(&w)) return false;
    closing = false;
    for (sort::run& segment : writer->take()) segments.push_back(std::move(segment));
    writer.reset();
    wake(producer);
    wake(consumer);
    return true;
  }

  step spill(record::batch& b, waker& w) {
    while (b.num_rows > 0) {
      const std::byte* row = b.row(0);
      const size_t needed = rows.row_bytes() + rows.heap_bytes(row);
      if (writer && needed > writer->payload_bytes() && !close_segment(w)) return step::blocked;
      if (!writer) {
        const size_t longest = std::bit_ceil(needed + block::block_header_bytes);
        writer.emplace(blocks, static_cast<uint32_t>(std::max<size_t>(block_bytes, longest)), num_write_buffers);
        writer->begin_run();
      }
      std::byte* payload = writer->payload(&w);
      if (payload == nullptr) return step::blocked;
      if (num_rows == 0) {
        front_bytes = 0;
        heap_end = writer->payload_bytes();
      }
      if (front_bytes + needed > heap_end) {
        submit_block();
        continue;
      }
      heap_end = rows.place(row, b.heap, payload, payload + front_bytes, heap_end);
      front_bytes += rows.row_bytes();
      ++num_rows;
      b = b.slice(1, b.num_rows - 1);
    }
    return step::ready;
  }

  // The next batch from scratch into `current`.
  step read(waker& w) {
    for (;;) {
      if (reader) {
        block::prefetched_block next;
        const block::step s = reader->next(next, &w);
        if (s == block::step::blocked) return s;
        if (s == block::step::ready) {
          ++blocks_read;
          record::batch b;
          b.rows = b.heap = next.payload();
          b.num_rows = next.header().num_rows;
          b.row_bytes = rows.row_bytes();
          b.heap_bytes = rows.has_strings() ? next.payload_bytes() : 0;
          b.owner = next.owner();
          current = std::move(b);
          return step::ready;
        }
        reader.reset();
        reading.reset();
      }
      if (!segments.empty()) {
        reading.emplace(std::move(segments.front()));
        segments.pop_front();
        blocks_read = 0;
        std::vector<block::fetch> sequence;
        for (size_t i = 0; i < reading->blocks.size(); ++i) sequence.push_back({reading->blocks[i].id, reading->stream, i, 0});
        block::prefetch_options options;
        options.free_after_read = true;
        reader.emplace(blocks, std::move(sequence), num_read_buffers, options);
      } else if (writer) {
        if (!close_segment(w)) return step::blocked;
      } else {
        return step::done;
      }
    }
  }

  block::block_manager& blocks;
  const sort::wide_rows rows;
  const uint32_t block_bytes;
  uint64_t row_memory = 0;

  mutable std::mutex mutex;  // guards the rest
  bool closed = false;
  waker* producer = nullptr;
  waker* consumer = nullptr;
  std::deque<record::batch> memory;
  uint64_t memory_used = 0;
  uint64_t spilled = 0;
  // The segment being written.
  std::optional<sort::run_writer> writer;
  bool closing = false;  // by either side; the other keeps off the writer
  uint32_t num_rows = 0;
  size_t front_bytes = 0;
  size_t heap_end = 0;
  // Written ones, and the one being read.
  std::deque<sort::run> segments;
  std::optional<sort::run> reading;
  size_t blocks_read = 0;
  std::optional<block::block_prefetcher> reader;
  std::optional<record::batch> current;
};

external_queue::external_queue(const record::row_type& type, block::block_manager& blocks, uint64_t memory_bytes)
    : core_(std::make_unique<core>(type, blocks, memory_bytes)) {}
external_queue::~external_queue() = default;

step external_queue::push(record::batch& b, waker& w) {
  core& c = *core_;
  std::lock_guard lock(c.mutex);
  const bool all_in_memory = !c.writer && c.segments.empty() && !c.reading;
  if (all_in_memory && c.memory_used + b.num_bytes() <= c.row_memory) {
    c.memory_used += b.num_bytes();
    c.memory.push_back(std::move(b));
    c.wake(c.consumer);
    return step::ready;
  }
  if (c.closing) {  // the consumer waits for this segment
    c.producer = &w;
    return step::blocked;
  }
  const step s = c.spill(b, w);
  c.wake(c.consumer);
  return s;
}

void external_queue::close() {
  core& c = *core_;
  std::lock_guard lock(c.mutex);
  c.closed = true;
  c.wake(c.consumer);
}

step external_queue::front(const record::batch*& out, waker& w) {
  core& c = *core_;
  std::lock_guard lock(c.mutex);
  if (!c.memory.empty()) {
    out = &c.memory.front();
    return step::ready;
  }
  if (!c.current) {
    const step s = c.read(w);
    if (s == step::blocked) return s;
    if (s == step::done) {
      if (c.closed) return step::done;
      c.consumer = &w;
      return step::blocked;
    }
  }
  out = &*c.current;
  return step::ready;
}

void external_queue::pop() {
  core& c = *core_;
  std::optional<record::batch> dead;  // dies outside the lock
  std::lock_guard lock(c.mutex);
  if (!c.memory.empty()) {
    dead = std::move(c.memory.front());
    c.memory.pop_front();
    c.memory_used -= dead->num_bytes();
  } else {
    dead.swap(c.current);
  }
}

uint64_t external_queue::spilled_bytes() const {
  std::lock_guard lock(core_->mutex);
  return core_->spilled;
}

}  // namespace flowrun::container
