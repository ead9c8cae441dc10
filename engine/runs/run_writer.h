// Writes runs block by block: fills a buffer's payload, remembers the first key, hands the buffer to the write-behind.
// Compressed blocks are filled in a buffer of their own and coded into that of the write-behind.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/block/buffered_writer.h"
#include "engine/block/stream_disks.h"
#include "engine/record/row_codec.h"
#include "engine/runs/compressed_blocks.h"
#include "engine/runs/sorted_runs.h"

namespace flowrun::runs {

// One thread at a time. Between begin_run() calls blocks are appended to the newest run.
class run_writer {
 public:
  // Owns `num_buffers` >= 1 buffers of `block_bytes`, and num_filled_buffers(coding).
  run_writer(block::block_manager& blocks, uint32_t block_bytes, unsigned num_buffers, const block_coding& coding = {});
  // Waits for the writes in flight and frees the blocks that take() did not hand over.
  ~run_writer();
  run_writer(const run_writer&) = delete;
  run_writer& operator=(const run_writer&) = delete;

  // Buffers beside those of the write-behind.
  static unsigned num_filled_buffers(const block_coding& coding) { return coding.compresses() ? 1 : 0; }

  uint32_t payload_bytes() const { return writer_.payload_bytes(); }
  bool has_run() const { return !runs_.empty(); }
  void begin_run();

  // Where to write the next block's payload; null when all buffers are on their way: `w` will be woken. The same buffer
  // is returned until submit().
  std::byte* payload(waker* w);
  // Hands the current buffer over, compressed here and now if it shall be. `first_row`/`num_bytes`: wide rows' first
  // row in the form of run::first_rows.
  void submit(uint32_t num_rows, uint32_t rows_bytes, uint32_t heap_bytes, record::word128 first,
              const std::byte* first_row = nullptr, size_t first_row_bytes = 0);

  // What the runs so far know of their blocks' first rows is dropped, and those to come know nothing of theirs.
  void forget_first_rows();
  bool keeps_first_rows() const { return keeps_first_rows_; }

  // done: everything is on the disks, and take() gives the runs.
  outcome flush(waker* w);
  std::vector<run> take();

  // --- for those who keep what is written (resume/manifest.h) ---

  // Is told of each mark once all that was submitted before it is on the disks: the blocks since the mark before, as
  // runs or parts of runs.
  using written = std::function<void(uint64_t mark, std::vector<run> blocks)>;
  void tell_of_written(written tell) { tell_ = std::move(tell); }
  void mark(uint64_t mark);

 private:
  struct mark_at {
    uint64_t mark = 0;
    uint64_t num_tickets = 0;
    size_t num_runs = 0, num_blocks = 0;  // of the last run
  };
  void settle(uint64_t num_tickets);
  void tell_of_marks();
  run part_of(size_t index, size_t from, size_t to) const;

  block::block_manager& blocks_;
  block::buffered_writer writer_;
  std::optional<block_encoder> encoder_;
  std::byte* current_ = nullptr;
  bool keeps_first_rows_ = true;
  std::vector<run> runs_;
  // The blocks got their tickets one after another. Of the first ones the runs know where they lie.
  uint64_t num_settled_ = 0;
  size_t settled_runs_ = 0, settled_blocks_ = 0;  // whole runs, and blocks of the one behind them
  uint64_t next_settling_ = 0;                    // once so many have been submitted
  std::optional<block::stream_disks> disks_;      // of the newest run
  written tell_;
  std::deque<mark_at> marks_;               // to be told
  size_t told_runs_ = 0, told_blocks_ = 0;  // whole runs, and blocks of the one behind them
};

}  // namespace flowrun::runs
