// The merges before the last one, where there are more runs than it can take at once: neighbouring runs become one, in
// the steps that merge_plan.h decides.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/runs/sorted_runs.h"
#include "engine/sort/merge_plan.h"
#include "engine/sort/run_creator.h"

namespace flowrun::sort {

// One of them. One thread at a time.
class intermediate_merge {
 public:
  virtual ~intermediate_merge() = default;
  // About a slice on. ready: call again. blocked: `w` will be woken. done: the new run is on the disks.
  virtual outcome advance(waker& w) = 0;
  // Once done.
  virtual runs::run take() = 0;
};

// One thread at a time.
class intermediate_merges {
 public:
  // Begins to merge these runs, and takes their blocks: they are freed as they are read.
  using beginning = std::function<std::unique_ptr<intermediate_merge>(std::vector<runs::run>)>;

  // As sort_resources::merged.
  using ending = std::function<void(const std::vector<uint64_t>& streams, const runs::run& made)>;

  // For runs of these sizes, in any unit, so that at most `fan_in` are left. `end` may be empty.
  intermediate_merges(const std::vector<uint64_t>& run_sizes, uint64_t fan_in, beginning begin, ending end = {});

  bool done() const { return next_ == steps_.size(); }
  // How often a row is read, at most, by these merges and the last one.
  uint64_t passes() const { return passes_; }

  // Until done(): about a slice on, on the runs that the sizes were of. ready or blocked.
  outcome advance(std::vector<runs::run>& runs, waker& w);

 private:
  const beginning begin_;
  const ending end_;
  std::vector<merge_step> steps_;
  uint64_t passes_ = 0;
  size_t next_ = 0;
  std::unique_ptr<intermediate_merge> merge_;
  std::vector<uint64_t> streams_;  // of the runs that it merges
};

}  // namespace flowrun::sort
