// A running job's counters as metrics. Values are read when a scrape asks; the job is not slowed down by it.
#pragma once

#include <atomic>

#include "engine/exec/job.h"
#include "engine/metrics/collection.h"
#include "runner/environment_mask.h"

namespace flowrun::runner {

class job_metrics {
 public:
  // `job` and `mask`, which labels go through, outlive this object.
  job_metrics(exec::job& job, const environment_mask& mask) : job_(job), mask_(mask) {}

  // On the job's thread.
  void note(const exec::job_progress& now);
  // What is true now, and all that was counted so far. On any thread.
  void collect(metrics::sink& sink) const;
  // What stays true of a run that has ended.
  void collect_totals(metrics::sink& sink) const;

 private:
  void collect_nodes(metrics::sink& into) const;
  void collect_graph(const exec::graph_record& record, metrics::sink& into) const;
  void collect_disks(metrics::sink& into) const;
  void collect_scratch(metrics::sink& into) const;

  exec::job& job_;
  const environment_mask& mask_;
  std::atomic<double> ratio_{0};
  std::atomic<size_t> phase_{1};
};

}  // namespace flowrun::runner
