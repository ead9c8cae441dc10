// Run formation: takes rows in input order, leaves sorted runs (STXXL, section 8: the sink half of a sort node).
//
// The run buffer is a ring of stretches. While some are written in the background, others fill and are sorted
// (Asynchronous sorting, figure 2, where there are two halves). Sorting and writing are works of their own, so that the
// disks need not wait for a sort. A stretch is a run: half of the memory, or less (creator_sizes::runs_per_half). One
// that begins where the last run ended extends that run, so sorted input makes one run. What comes last stays in memory
// as far as sort_resources::kept_bytes allows: input that fits touches no disk (decision D12), and larger input is
// written but for that share (2(N - M/2) of scratch I/O; SPsort, section 3).
//
// With sort_settings::long_runs, runs are four times as long on average, for more work in memory (long_run_creator.cc).
//
//   narrow rows (<= 16 bytes): encoded as numbers, sorted whole by SIMD          -> narrow_run_creator.cc
//   all others: (12 bytes of key prefix, row number) are sorted the same way,    -> wide_run_creator.cc
//               ties are broken by the whole key, then by row number (stable)
#pragma once

#include <memory>

#include "engine/base/outcome.h"
#include "engine/base/waker.h"
#include "engine/runs/sorted_runs.h"
#include "engine/sort/hand_over.h"
#include "engine/sort/settings.h"

namespace flowrun::sort {

class run_creator {
 public:
  virtual ~run_creator() = default;
  // The part of the work that needs no order: turns rows into what push() takes. Called from several threads at once.
  virtual prepared_rows prepare(const record::batch& in) const = 0;
  // What prepare() made, in input order. ready: all of `in` was taken. blocked: what is left of `in` must come again
  // after `w` was woken. Throws what the background work threw.
  virtual outcome push(prepared_rows& in, waker& w) = 0;
  // After the last batch, until done (or blocked).
  virtual outcome finish(waker& w) = 0;
  // After finish().
  virtual runs::sorted_runs take() = 0;
};

// Throws error(resources) when the memory can't hold even a few blocks.
std::unique_ptr<run_creator> make_run_creator(const sort_settings& settings, const sort_resources& resources);

}  // namespace flowrun::sort
