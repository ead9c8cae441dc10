// Merging rows that are sorted by index: a loser tree over the runs' heads.
//
// Heads are compared by their 16-byte key prefix; where the key is longer, by offset-value codes (offset_value_code.h)
// instead. Equal keys keep input order. When a run's block is used up, the first row of its next block, which stays in
// memory, stands in as its head; the block itself is fetched only when that head wins. So blocks are wanted exactly in
// the order of the prediction sequence, and no run ever holds more than one.
#pragma once

#include <memory>
#include <vector>

#include "engine/block/prefetched_block.h"
#include "engine/kernels/wide_rows.h"
#include "engine/record/batch.h"
#include "engine/sort/run_merger.h"

namespace flowrun::sort {

class row_merger {
 public:
  // Takes the runs' blocks: they are freed as they are read. `in_memory`: runs that come after them. The resources
  // outlive the merger. With settings.unique only the first of equal rows is delivered.
  row_merger(std::vector<runs::run> runs, runs::memory_runs in_memory, const sort_settings& settings,
             const sort_resources& resources, const merger_memory& memory);
  ~row_merger();

  // The next row in order, valid until the following call. ready, blocked or done. Throws error(io).
  struct row_view {
    const std::byte* row = nullptr;
    const std::byte* heap = nullptr;
  };
  outcome next(row_view& out, waker& w);
  // As run_merger::position(): behind the row that was delivered last.
  runs::merge_position position() const;

  struct core;

 private:
  std::unique_ptr<core> core_;
};

}  // namespace flowrun::sort
