// Merging: from sorted runs to one sorted stream (papers/001, section 8: the source half of a sort node).
//
// The first keys of all blocks, merged, predict the order σ in which blocks will be wanted; a prefetcher reads them in
// time (papers/000, section 2). Runs beyond what the memory can merge at once are first merged among neighbours
// (merge_plan.h).
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
  // Runs that the last merge takes at once; 0 when nothing was spilled.
  virtual uint64_t fan_in() const = 0;
  // How often a row is read from scratch, at most: 0 when nothing was spilled.
  virtual uint64_t merge_passes() const = 0;
};

// `batch_bytes`: about the size of the batches that refine() makes. With `unique`, the first row of a batch may repeat
// the last of the batch before. Throws error(resources) when the memory can't hold two runs' blocks.
std::unique_ptr<run_merger> make_run_merger(const sort_settings& settings, const sort_resources& resources,
                                            runs::sorted_runs runs, size_t batch_bytes);

// How a merger divides its memory. Pure.
struct merger_memory {
  uint64_t fan_in = 2;         // runs merged at once
  unsigned lookahead = 2;      // blocks beyond one per run that may wait in memory, merged
  unsigned num_buffers = 8;    // blocks in memory, all together, when fan_in runs are merged
  uint64_t slice_bytes = 0;    // narrow rows: words of one slice
  unsigned write_buffers = 2;  // of an intermediate merge
  runs::block_coding coding;   // of the runs
  block::prefetch_options prefetch;

  runs::reading_memory reading() const { return {num_buffers, lookahead, coding, prefetch}; }
};
// `longest_block`: the largest block of the runs. Throws error(resources) when the memory can't hold two runs' blocks.
merger_memory divide_merger_memory(const sort_resources& resources, uint32_t longest_block);
// merger_memory::slice_bytes alone, which depends on no block.
uint64_t merger_slice_bytes(const sort_resources& resources);

}  // namespace flowrun::sort
