// Where the metrics of one run go: over HTTP to whoever asks while it runs, and into a file when it has ended.
#pragma once

#include <memory>
#include <string>

#include "engine/base/clock.h"
#include "engine/metrics/collection.h"
#include "engine/metrics/exporter.h"
#include "runner/metrics_file.h"
#include "runner/terminal.h"

namespace flowrun::runner {

// What the clock on the wall says, as Prometheus counts time.
double unix_seconds();

class run_metrics {
 public:
  // The run begins. Messages go to `screen`, which outlives this object.
  run_metrics(std::string job_name, terminal& screen);

  // The run's end is to be told in a file. `name_is_known`: false where the job can't be read, which may have a name;
  // then it is the one of the last run. Throws error(output), error(io) where that won't do.
  void write_at_end(const std::string& path, bool name_is_known);
  // Serves what is in values() until this object goes, and says where. Where another process has the port the run goes
  // on without, and says so. Throws error for an address that can never be served.
  void serve(const std::string& addresses);
  metrics::collection& values() { return values_; }

  // The run has ended. `totals`: what stays true of it, for the file; empty, where it didn't come so far. The first
  // call counts. What goes wrong with the file is a warning: the job's result is what it is.
  void end(int exit_code, const metrics::collector& totals = {}) noexcept;

 private:
  std::string job_name_;
  terminal& screen_;
  const double started_at_;  // Unix time
  const uint64_t start_ns_;
  std::unique_ptr<metrics_file> file_;  // null: none was asked for, or it is written
  metrics::collection values_;
  metrics::collection::attachment own_;
  std::unique_ptr<metrics::exporter> exporter_;
};

}  // namespace flowrun::runner
