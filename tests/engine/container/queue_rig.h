// A queue, or scratch for another container, in memory or on disks; all blocks must be free once it is gone.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/container/external_queue.h"
#include "engine/io/backends.h"
#include "tests/engine/block/scratch_fixture.h"
#include "tests/engine/record/random_rows.h"
#include "tests/support/wakers.h"

namespace flowrun::container {

using record::batch;
using record::row_type;

class queue_rig {
 public:
  // `backend` null: in memory, or on two disks served by threads.
  explicit queue_rig(bool on_disk, std::unique_ptr<io::backend> backend = nullptr, uint64_t limit = 0)
      : backend_(backend   ? std::move(backend)
                 : on_disk ? io::make_thread_backend(16)
                           : io::make_memory_backend()) {
    block::manager_options options = block::memory_options(*backend_, 2, limit);
    if (on_disk) options = block::directory_options(*backend_, directory_.emplace(), 2);
    blocks_ = std::make_unique<block::block_manager>(std::move(options));
  }
  ~queue_rig() {
    queue_.reset();
    EXPECT_EQ(blocks_->used_bytes(), 0U) << "scratch blocks were left behind";
  }

  external_queue& make(const row_type& type, uint64_t memory_bytes, uint64_t kept_bytes = UINT64_MAX) {
    return queue_.emplace(type, *blocks_, memory_bytes, kept_bytes);
  }
  void destroy() { queue_.reset(); }
  external_queue& queue() { return *queue_; }
  block::block_manager& blocks() { return *blocks_; }
  record::batch_pool& pool() { return pool_; }

 private:
  std::optional<block::temporary_directory> directory_;
  std::unique_ptr<io::backend> backend_;
  record::batch_pool pool_;
  std::unique_ptr<block::block_manager> blocks_;
  std::optional<external_queue> queue_;
};

// About `num_bytes` of random rows in batches of random length. Strings have up to `max_string_bytes`.
inline std::vector<batch> random_batches(queue_rig& rig, const row_type& type, size_t max_string_bytes,
                                         size_t num_bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<batch> out;
  std::string text;
  while (num_bytes > 0) {
    record::batch_builder builder(type, rig.pool(), 1 + random() % 20'000);
    while (!builder.full() && num_bytes > 0) {
      std::byte* row = builder.append();
      size_t taken = type.row_bytes();
      for (const record::column& c : type.columns()) {
        if (c.type.is_string()) {
          text.assign(random() % (max_string_bytes + 1), static_cast<char>(random()));
          builder.put_string(row + c.offset, text);
          taken += text.size();
        } else {
          for (uint32_t i = 0; i < c.type.num_bytes; ++i) row[c.offset + i] = static_cast<std::byte>(random());
        }
      }
      num_bytes -= std::min(num_bytes, taken);
    }
    out.push_back(builder.take());
  }
  return out;
}

struct row_kind {
  row_type type;
  size_t max_string_bytes = 0;
};

inline std::vector<row_kind> row_kinds() {
  return {{record::type_of({{"k", "u64"}}), 0},
          {record::type_of({{"a", "u16"}, {"b", "bytes[21]"}}), 0},
          {record::type_of({{"k", "u32"}, {"s", "string"}}), 30},
          {record::type_of({{"s", "string"}, {"t", "string"}}), 9000}};  // most rows longer than a block of 4 KiB
}

inline std::vector<batch> some_rows(queue_rig& rig, const row_kind& kind, size_t num_bytes, uint64_t seed) {
  return random_batches(rig, kind.type, kind.max_string_bytes, num_bytes, seed);
}

inline void push_all(external_queue& queue, std::vector<batch> input) {
  blocking_waker w;
  for (batch& b : input)
    while (queue.push(b, w).is_blocked()) w.wait();
  queue.close();
}

// Appends the contents of the next batch; false at the end.
inline bool read_one(external_queue& queue, const row_type& type, std::vector<std::string>& out) {
  blocking_waker w;
  const batch* front = nullptr;
  for (;;) {
    const outcome s = queue.front(front, w);
    if (s.is_done()) return false;
    if (s.is_ready()) break;
    w.wait();
  }
  EXPECT_EQ(front->row_bytes, type.row_bytes());
  for (size_t i = 0; i < front->num_rows; ++i) out.push_back(record::content_of(type, front->row(i), front->heap));
  queue.pop();
  return true;
}

inline std::vector<std::string> read_all(external_queue& queue, const row_type& type) {
  std::vector<std::string> out;
  while (read_one(queue, type, out)) {
  }
  return out;
}

}  // namespace flowrun::container
