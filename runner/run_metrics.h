// Where the metrics of one run go: over HTTP to whoever asks while it runs.
#pragma once

#include <memory>
#include <string>

#include "engine/metrics/collection.h"
#include "engine/metrics/exporter.h"
#include "runner/terminal.h"
#include "specs/job.pb.h"

namespace flowrun::runner {

// The label job_name: the job's name, else that of its file.
std::string job_label(const specs::JobSpec& job);

class run_metrics {
 public:
  // Messages go to `screen`, which outlives this object.
  run_metrics(std::string job_name, terminal& screen) : job_name_(std::move(job_name)), screen_(screen) {}

  // Serves what is in values() until this object goes, and says where. Where another process has the port the run goes
  // on without, and says so. Throws error for an address that can never be served.
  void serve(const std::string& addresses);
  metrics::collection& values() { return values_; }

 private:
  const std::string job_name_;
  terminal& screen_;
  metrics::collection values_;
  std::unique_ptr<metrics::exporter> exporter_;
};

}  // namespace flowrun::runner
