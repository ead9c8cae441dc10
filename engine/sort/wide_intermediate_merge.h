// An intermediate merge of rows that are sorted by index: slices are merged by several threads (slice_lanes.h), and one
// copies their rows, in order, into the blocks of a new run. unique and combine leave each key once.
//
// Slices refer to rows in the blocks that were read, so they may be large: at least several rows of each run, or
// cutting them would cost more than merging. Beside the blocks there is only an index of two pointers per row.
#pragma once

#include <span>
#include <vector>

#include "engine/runs/row_writer.h"
#include "engine/runs/run_writer.h"
#include "engine/sort/intermediate_merges.h"
#include "engine/sort/row_slice_merger.h"
#include "engine/sort/slice_lanes.h"

namespace flowrun::sort {

class wide_intermediate_merge final : public intermediate_merge {
 public:
  // Takes the runs' blocks: they are freed as they are read. The resources and `slices` outlive the merge.
  wide_intermediate_merge(std::vector<runs::run> runs, const sort_settings& settings, const sort_resources& resources,
                          const merger_memory& memory, uint32_t block_bytes, const kernels::row_slices& slices);

  outcome advance(waker& w) override;
  runs::run take() override { return std::move(writer_.take().front()); }

 private:
  const bool knows_first_rows_;  // of the runs' blocks
  row_slice_merger merger_;
  runs::run_writer writer_;
  runs::row_writer rows_;
  std::span<const record::row_place> merged_;  // of a slice, to be written
  bool showing_ = false;                       // merged_ is what the lanes handed out
  bool written_ = false;                       // all of it is on its way to the disks
  slice_lanes lanes_;                          // dies first: its slices refer to what the merger read
};

}  // namespace flowrun::sort
