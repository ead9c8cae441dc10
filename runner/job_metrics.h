// A running job's counters as metrics. Values are read when a scrape asks; the job is not slowed down by it.
#pragma once

#include <atomic>

#include "engine/exec/job.h"
#include "engine/metrics/collection.h"
#include "runner/environment_mask.h"

namespace flowrun::runner {

class job_metrics {
 public:
  // `job` and `mask`, which labels go through, outlive this object. `scratch_limit`: of all scratch directories
  // together; 0: there is none.
  job_metrics(exec::job& job, uint64_t scratch_limit, const environment_mask& mask)
      : job_(job), scratch_limit_(scratch_limit), mask_(mask) {}

  // On the job's thread, several times a second.
  void note(const exec::job_progress& now, double unix_seconds);
  // What is true now, and all that was counted so far. On any thread.
  void collect(metrics::sink& sink) const;
  // What stays true of a run that has ended.
  void collect_totals(metrics::sink& sink) const;

 private:
  void collect_nodes(metrics::sink& into) const;
  void collect_graph(const exec::graph_record& record, metrics::sink& into) const;
  void collect_disks(metrics::sink& into) const;
  void collect_scratch(metrics::sink& into) const;

  double work_done(const exec::job_progress& now) const;

  exec::job& job_;
  const uint64_t scratch_limit_;
  const environment_mask& mask_;
  std::atomic<double> ratio_{0};
  std::atomic<size_t> phase_{1};
  std::atomic<double> moved_at_{0};
  double looked_at_ = 0;  // both of the job's thread
  double work_seen_ = -1;
};

}  // namespace flowrun::runner
