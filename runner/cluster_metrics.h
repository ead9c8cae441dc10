// A job on a cluster as metrics: how far its tasks are together, and what those have counted that are done. Winners
// count alone, so that no counter goes back.
#pragma once

#include <cstdint>

#include "cluster/driver.h"
#include "engine/base/mutex.h"
#include "engine/metrics/collection.h"
#include "runner/environment_mask.h"

namespace flowrun::runner {

class cluster_metrics {
 public:
  // `mask`, which labels go through, outlives this object.
  cluster_metrics(uint64_t memory_bytes, const environment_mask& mask) : memory_bytes_(memory_bytes), mask_(mask) {}

  // On the driver's thread.
  void note(const cluster::driver_progress& now, double unix_seconds);
  void count(const exec::RunReport& so_far);
  // What is true now, and all that was counted so far. On any thread.
  void collect(metrics::sink& sink) const;
  // What stays true of a run that has ended.
  void collect_totals(metrics::sink& sink) const;

 private:
  void collect_totals_locked(metrics::sink& into) const FLOWRUN_REQUIRES(mutex_);

  const uint64_t memory_bytes_;  // of all tasks that run at once
  const environment_mask& mask_;
  mutable mutex mutex_;
  cluster::driver_progress now_ FLOWRUN_GUARDED_BY(mutex_);
  exec::RunReport counted_ FLOWRUN_GUARDED_BY(mutex_);
  double moved_at_ FLOWRUN_GUARDED_BY(mutex_) = 0;
};

}  // namespace flowrun::runner
