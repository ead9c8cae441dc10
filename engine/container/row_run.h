// Rows written to scratch in their order, as runs of blocks, and read again from these: what a later process may have
// to go on with (resume/manifest.h). A row that is too long for the blocks begins a run of longer ones.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/outcome.h"
#include "engine/base/waker.h"
#include "engine/block/block_manager.h"
#include "engine/container/row_page.h"
#include "engine/kernels/wide_rows.h"
#include "engine/record/row_type.h"
#include "engine/runs/predicted_reader.h"
#include "engine/runs/run_writer.h"

namespace flowrun::container {

// One thread at a time.
class row_run_writer {
 public:
  // Has two buffers of a block while rows are written. The manager outlives it.
  row_run_writer(const record::row_type& type, block::block_manager& blocks);

  // ready: `b` was taken. blocked: the rest of it, left in `b`, must come again after `w` was woken. Throws
  // error(bad_data), error(io), error(resources).
  outcome push(record::batch& b, waker& w);
  // done: all rows are on the disks, and take() gives the runs, in the order of the rows. More may be pushed then,
  // which begin a run of their own.
  outcome flush(waker& w);
  std::vector<runs::run> take() { return std::exchange(runs_, {}); }

 private:
  void open(uint64_t longest_row);
  void submit();

  block::block_manager& blocks_;
  const kernels::wide_rows rows_;
  row_page page_;
  std::optional<runs::run_writer> writer_;
  bool closing_ = false;
  std::vector<runs::run> runs_;
};

// The blocks of the runs are freed as they are read. One thread at a time.
class row_run_reader {
 public:
  row_run_reader(const record::row_type& type, block::block_manager& blocks, std::vector<runs::run> runs)
      : type_(type), blocks_(blocks), runs_(std::move(runs)) {}

  // ready: the next rows, in a buffer of the reader: to be let go of before the next call. Throws error(io).
  outcome next(record::batch& out, waker& w);

 private:
  const record::row_type type_;
  block::block_manager& blocks_;
  const std::vector<runs::run> runs_;
  size_t next_ = 0;
  std::optional<runs::predicted_reader> reader_;
};

}  // namespace flowrun::container
