// Merging rows that are sorted by index in slices, in parallel (row_slices.h): the merge of wide rows and of strings.
// slice_merger.h does the same for rows that are numbers.
//
// A slice refers to the rows where they are, in blocks and in the memory of runs that stayed there; it keeps them
// alive. So rows are copied once, into the batches that leave. At most one block of each run, and a few more, are
// waiting to be cut; blocks that slices in flight refer to come on top, and are missing for reading ahead until these
// are done.
#pragma once

#include <memory>
#include <vector>

#include "engine/block/prefetched_block.h"
#include "engine/kernels/row_slices.h"
#include "engine/record/batch.h"
#include "engine/runs/run_fronts.h"
#include "engine/sort/run_merger.h"

namespace flowrun::sort {

class row_slice_merger {
 public:
  // Takes the runs' blocks: they are freed as they are read. `in_memory`: runs that come after them. The slices' parts
  // have at most about slice_bytes together. The resources and `slices` outlive the merger.
  row_slice_merger(std::vector<runs::run> runs, runs::memory_runs in_memory, const sort_settings& settings,
                   const sort_resources& resources, const merger_memory& memory, const kernels::row_slices& slices);

  // ready: the next slice. Throws error(io).
  outcome next(kernels::row_slice& slice, waker& w);
  // As run_merger::position().
  runs::merge_position position() const { return fronts_.position(); }

 private:
  struct segment {
    kernels::row_span rows;
    std::shared_ptr<const void> owner;
  };
  // Takes counts_ rows off the fronts.
  kernels::row_slice take();

  const kernels::row_slices& slices_;
  const uint32_t row_bytes_;
  const size_t slice_bytes_;
  runs::run_fronts<segment> fronts_;
  // Reused by each call.
  std::vector<kernels::row_span> spans_;
  std::vector<bool> ends_;
  std::vector<size_t> counts_;
};

}  // namespace flowrun::sort
