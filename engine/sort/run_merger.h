// Merging: from sorted runs to one sorted stream (STXXL, section 8: the source half of a sort node).
//
// The first keys of all blocks, merged, predict the order σ in which blocks will be wanted; a prefetcher reads them in
// time (Asynchronous sorting, section 2). Runs beyond what the memory can merge at once are first merged among
// neighbours (merge_plan.h).
//
//   narrow rows: what lies below a common splitter is taken from every run, concatenated, and sorted again; one such
//                slice fits the L2 cache, and slices are independent, so they are refined in parallel (slice_merger.h)
//   all others:  cut at common splitters, too, and slices go through loser trees (row_slice_merger.h); in the last
//                merge, where rows are long for the memory, one loser tree does it all (row_merger.h)
#pragma once

#include <memory>
#include <vector>

#include "engine/runs/predicted_reader.h"
#include "engine/runs/sorted_runs.h"
#include "engine/sort/hand_over.h"
#include "engine/sort/run_creator.h"
#include "engine/sort/settings.h"

namespace flowrun::sort {

class run_merger {
 public:
  virtual ~run_merger() = default;
  // The next part of the sorted stream, appended to `out`. ready: call again (perhaps nothing was appended). blocked:
  // `w` will be woken. done: that was all. One call at a time. With settings.limit the stream ends early, but the last
  // part may go beyond the limit.
  virtual outcome pull(std::vector<merge_part>& out, waker& w) = 0;
  // The rest of the work, which needs no order: turns a part that pull() gave into rows, once. Called from several
  // threads at once.
  virtual void refine(const merge_part& part, std::vector<record::batch>& out) const = 0;
  // How far the last merge has come, between two calls of pull(): what is pulled from here on is what a merger gives
  // whose runs begin there (sorted_runs::begin_at). Empty before that merge begins, and where some rows are in memory
  // only.
  virtual runs::merge_position position() const = 0;
  // Runs that the last merge takes at once; 0 when nothing was spilled.
  virtual uint64_t fan_in() const = 0;
  // How often a row is read from scratch, at most: 0 when nothing was spilled.
  virtual uint64_t merge_passes() const = 0;
};

// `batch_bytes`: about the size of the batches that refine() makes. With `unique`, the first row of a batch may repeat
// the last of the batch before. Throws error(resources) when the memory can't hold two runs' blocks.
std::unique_ptr<run_merger> make_run_merger(const sort_settings& settings, const sort_resources& resources,
                                            runs::sorted_runs runs, size_t batch_bytes);

// How a merger works: its sizes and the form of the runs.
struct merger_memory : sizes::merger_sizes {
  runs::block_coding coding;
  block::prefetch_options prefetch;

  runs::reading_memory reading() const { return {num_buffers, lookahead, coding, prefetch, uncounted.long_buffers}; }
};
// As the merger was handed it. Throws error(resources) when two runs' blocks don't fit.
merger_memory memory_of(const sort_resources& resources);
// Where blocks are longer than was planned, or `first_keys` bytes of runs take a part of the memory.
merger_memory memory_of(const sort_resources& resources, uint32_t longest_block, uint64_t first_keys, bool folds);

}  // namespace flowrun::sort
