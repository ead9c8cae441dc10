// Ascending rows, wherever they lie, on their way into the blocks of runs: here wide rows move (Asynchronous sorting:
// moving records took up to 45 % of run formation). word_writer.h does the same for rows that are numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/kernels/wide_rows.h"
#include "engine/record/key.h"
#include "engine/record/key_words.h"
#include "engine/runs/run_writer.h"

namespace flowrun::runs {

// One thread at a time, as run_writer. Rows may come in any portions; the blocks don't depend on them.
class row_writer {
 public:
  // The run writer outlives this. No row may be longer, with its strings, than its blocks' payload. When the first rows
  // of blocks take more than `most_first_rows_bytes`, the runs forget them.
  row_writer(run_writer& writer, const record::row_type& type, const record::key& key, uint64_t most_first_rows_bytes);

  // Takes rows off the front as far as there are buffers. blocked: `w` will be woken once there is one.
  outcome append(std::span<const record::row_place>& rows, waker& w);

  // What was taken goes to the disks; the next rows begin a block.
  void end_block();

  // What all blocks so far keep of their first rows in memory.
  uint64_t first_rows_bytes() const { return first_rows_bytes_; }

 private:
  void begin_block(const record::row_place& first);

  run_writer& writer_;
  const kernels::wide_rows rows_;
  const record::key_prefix prefix_;
  const uint64_t most_first_rows_bytes_;
  std::byte* payload_ = nullptr;  // of the current block
  uint32_t num_rows_ = 0;         // in it; 0: it has not begun
  size_t front_ = 0;
  size_t back_ = 0;
  record::word128 first_prefix_ = 0;
  std::vector<std::byte> first_row_;
  uint64_t first_rows_bytes_ = 0;
};

}  // namespace flowrun::runs
