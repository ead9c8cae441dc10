// The hand-over between run creation and merging: sorted runs on scratch, and perhaps a last one that never left
// memory.
//
// A run is a sequence of blocks whose rows ascend. The first key of each block stays in memory: it predicts the order
// in which a merge will want the blocks (Asynchronous sorting, section 2; Knuth's forecasting). Where such keys are too
// long for the memory they are forgotten, and a merge reads each run by itself (run_fronts.h).
//
// What a block's payload holds depends on the row shape:
//   narrow  (rows of <= 16 bytes, sorted as numbers) num_rows packed words of row_bytes each (record/row_codec.h)
//   wide    a batch: rows from the front, their strings from the back, string_refs relative to the payload
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/buffer.h"
#include "engine/block/block_manager.h"
#include "engine/record/row_tally.h"
#include "engine/runs/run_blocks.h"

namespace flowrun::runs {

struct run {
  uint64_t stream = 0;  // identifies its blocks, together with their index
  uint64_t num_rows = 0;
  uint32_t block_bytes = 0;  // of each block in memory
  run_blocks blocks;

  uint64_t stored_bytes() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < blocks.size(); ++i) sum += blocks.id(i).num_bytes;
    return sum;
  }
  // Wide, and only when the key is longer than its prefix: the key of each block's first row (wide_rows::copy_key).
  std::vector<std::byte> first_rows;
  bool knows_first_rows = true;  // or needs none, where prefixes are whole keys

  // Where a merge goes on that another process began: what that one took of the run is not in it any more.
  uint64_t rows_before = 0;           // in front of those that are left
  uint32_t blocks_before = 0;         // in front of blocks[0]
  uint32_t rows_before_in_block = 0;  // in blocks[0]

  void forget_first_rows() {
    std::vector<std::byte>().swap(first_rows);
    knows_first_rows = false;
  }
};

// Whether a merge of these runs can tell which block it will want next.
inline bool know_first_rows(const std::vector<run>& runs) {
  return std::all_of(runs.begin(), runs.end(), [](const run& r) { return r.knows_first_rows; });
}

// What only some of the runs know is of no use.
inline void forget_first_rows_together(std::vector<run>& runs) {
  if (know_first_rows(runs)) return;
  for (run& r : runs) r.forget_first_rows();
}

// How far a merge has come: the rows that it has taken of each of its runs.
struct rows_of_run {
  uint64_t stream = 0;
  uint64_t num_rows = 0;
  bool operator==(const rows_of_run&) const = default;
};
using merge_position = std::vector<rows_of_run>;

// A run that stayed in memory, in one or several ascending parts; only a single part has gone through `unique` as a
// whole. Narrow: `rows` holds the parts' words. Wide: rows at the front of `rows` with their strings at its back
// (string_refs relative to the start), and `entries` holds (prefix, row number), part by part; later parts have higher
// row numbers.
struct memory_run {
  struct part {
    uint64_t first = 0;  // word, or entry
    uint64_t num_words = 0;
  };
  aligned_buffer rows;
  aligned_buffer entries;
  std::vector<part> parts;
  uint64_t num_rows = 0;  // words, or entries, of all parts
};

using memory_runs = std::vector<std::shared_ptr<const memory_run>>;

inline size_t num_parts(const memory_runs& runs) {
  size_t sum = 0;
  for (const auto& r : runs) sum += r->parts.size();
  return sum;
}

// Owns the blocks: they are freed when it dies, unless a merger took them. Movable.
class sorted_runs {
 public:
  sorted_runs() = default;
  explicit sorted_runs(block::block_manager& blocks) : blocks_(&blocks) {}
  sorted_runs(sorted_runs&& other) noexcept { *this = std::move(other); }
  sorted_runs& operator=(sorted_runs&& other) noexcept {
    std::swap(blocks_, other.blocks_);
    std::swap(runs, other.runs);
    std::swap(in_memory, other.in_memory);
    std::swap(num_rows, other.num_rows);
    std::swap(taken, other.taken);
    return *this;
  }
  ~sorted_runs() {
    if (blocks_ == nullptr) return;
    for (const run& r : runs)
      for (size_t i = 0; i < r.blocks.size(); ++i) blocks_->free(r.blocks.id(i));
  }

  // Leaves out what a merge of these runs had taken there. False: it is no position in them. Before they are merged.
  bool begin_at(const merge_position& position);

  void keep(std::shared_ptr<const memory_run> last) {
    num_rows += last->num_rows;
    in_memory.push_back(std::move(last));
  }

  std::vector<run> runs;  // in input order
  // What came last, as far as memory could keep it, in input order; all there is when everything fitted.
  memory_runs in_memory;
  uint64_t num_rows = 0;
  std::optional<record::row_tally> taken;  // all rows that were taken to make these runs, where that is to be verified

 private:
  block::block_manager* blocks_ = nullptr;
};

}  // namespace flowrun::runs
