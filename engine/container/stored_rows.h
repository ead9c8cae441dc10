// Rows that were stored once and are read any number of times: pieces in memory and blocks on scratch, in a sequence,
// and the reader of it.
//
//   pieces   [memory] [memory] [block] [block] [memory] …        the code that fills them decides which is which
//   reader   ──▶ read ahead, a block at a time, from all disks   forward
//            ◀── the same from the end, rows reversed            backward
//
// A piece's rows are as in a scratch block: rows from the front, their strings behind them, string_refs relative to the
// piece's first byte. With an index the key of each block's first row is in memory, so that a reader can leave out
// blocks that it was not asked for: they are not read (a skip join, STXXL, section 10). Where keys are so long that
// they would fill the memory, every second one is forgotten, and again; then a reader begins at a block whose key is
// known, and reads on from there.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/base/units.h"
#include "engine/base/waker.h"
#include "engine/block/block_manager.h"
#include "engine/block/prefetched_block.h"
#include "engine/container/piece_cache.h"
#include "engine/record/batch.h"
#include "engine/record/key.h"
#include "engine/record/row_type.h"

namespace flowrun::container {

// In memory (rows.owner is set) or on scratch. The last reader gives both up as it goes along, and nothing else looks
// at them then (stored_rows::release).
struct row_piece {
  mutable record::batch rows;
  mutable block::fetch stored;
  uint64_t first_row = 0;  // how many rows are in the pieces before it
  uint32_t num_rows = 0;
  uint64_t num_bytes = 0;    // rows and their strings
  uint64_t key_at = no_key;  // of a block, with an index: where its first key lies in stored_rows::first_keys

  static constexpr uint64_t no_key = UINT64_MAX;
  bool in_memory() const { return rows.owner != nullptr; }
};

// Frees its blocks when it dies, or as they are read by a reader that is the last to have it. Filled by one thread;
// read by any number of them once it is complete.
struct stored_rows {
  stored_rows(record::row_type t, block::block_manager& manager, record::batch_pool& batches)
      : type(std::move(t)), blocks(manager), pool(batches) {}
  ~stored_rows() {
    for (const row_piece& p : pieces) release(p);
  }
  stored_rows(const stored_rows&) = delete;
  stored_rows& operator=(const stored_rows&) = delete;

  const record::row_type type;
  block::block_manager& blocks;
  record::batch_pool& pool;
  record::key index;  // the rows are sorted by it; empty: no index
  std::vector<row_piece> pieces;
  std::vector<std::byte> first_keys;   // of blocks (kernels::wide_rows::copy_key)
  uint32_t key_begin = 0;              // where the key begins in a row
  std::unique_ptr<piece_cache> cache;  // of blocks that readers who seek have read; null: none
  // Gives up a piece's memory or block. By one thread, when no other can come to the piece any more.
  void release(const row_piece& p) const {
    if (!p.in_memory() && p.stored.id.num_bytes > 0) blocks.free(p.stored.id);
    p.rows = {};
    p.stored.id.num_bytes = 0;
  }
  // What is in memory of the pieces beside their rows: about 150 bytes each.
  uint64_t index_bytes() const {
    return pieces.capacity() * sizeof(row_piece) + first_keys.capacity() +
           (on_scratch.capacity() + with_key.capacity()) * sizeof(uint32_t);
  }
  // Once all pieces are there.
  uint64_t num_rows = 0;
  uint64_t num_bytes = 0;
  std::vector<uint32_t> on_scratch;  // which pieces are, ascending
  bool has_all_keys = true;          // else only some pieces can be compared with
  std::vector<uint32_t> with_key;    // those, ascending; where all are, nothing
  uint32_t longest_block = 0;        // bytes of the longest of them
  void count();
};

constexpr size_t usual_batch_bytes = 256 * KiB;

enum class direction : uint8_t { forward, backward };

// One thread at a time. The rows stay as long as a reader or a batch of it lives.
class stored_reader {
 public:
  // `memory_bytes` for blocks that are read ahead or held by the consumer; at least three. Batches of about
  // `batch_bytes`. Nothing is read before the first front().
  stored_reader(std::shared_ptr<const stored_rows> rows, uint64_t memory_bytes, direction way = direction::forward,
                size_t batch_bytes = usual_batch_bytes);
  // Waits for the transfers in flight.
  ~stored_reader();
  stored_reader(const stored_reader&) = delete;
  stored_reader& operator=(const stored_reader&) = delete;

  // ready: `out` is the next batch, valid until pop() or seek(); copies of it may be kept. blocked: `w` will be woken.
  // done: that was all. Throws error(io) when a block can't be read or is damaged, and again from then on.
  outcome front(const record::batch*& out, waker& w);
  void pop();

  // Goes on at the first row, from where the reader stands, whose key is not less than that of `row`. They are compared
  // by `order`: its left side is `row`, its right side the rows' own type and index. All three stay as they are until
  // front() has answered ready or done. Forward reading of indexed rows only. Two binary searches; blocks in between
  // are not read.
  void seek(const record::row_comparator& order, const std::byte* row, const std::byte* heap);

  // The next seeks will be to these rows, which ascend: the blocks that have rows of their keys are read ahead. Rows of
  // any other key can still be read. A hint: for the rows of a batch, before the first of them is sought.
  void expect(const record::row_comparator& order, const record::batch& keys);

  // Blocks that were read so far or are being read.
  uint64_t num_blocks_read() const;

 private:
  struct core;
  std::unique_ptr<core> core_;
};

}  // namespace flowrun::container
