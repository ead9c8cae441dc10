// The file of --metrics-file: how a run went, for the textfile collector of Prometheus's node_exporter. It is replaced
// as a whole when the run has ended, and keeps account of when the job last succeeded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/metrics/collection.h"
#include "runner/document.h"

namespace flowrun::runner {

struct run_outcome {
  double started_at = 0;  // seconds, Unix time
  double seconds = 0;
  int exit_code = 0;
  double last_success_at = 0;  // of an earlier run; 0: there is none
};

void collect_outcome(const run_outcome& outcome, metrics::sink& into);

// What such a file says about when a job last succeeded. Empty where it says nothing about this job.
std::optional<double> last_success_in(std::string_view page, std::string_view job_name);

// Whose run such a file tells of. Empty where it doesn't say.
std::string job_name_in(std::string_view page);

// False for text that no run has written: somebody else's file, which is not to be replaced.
bool is_page_of_metrics(std::string_view text);

class metrics_file {
 public:
  // Reads what the last run has left, and tries whether the file can be written. Throws error(output), error(io).
  // `job_name`: empty where the job can't be read, and then that of the last run.
  metrics_file(const std::string& path, std::string job_name);

  // The job of the last run; empty: there is none.
  const std::string& job_name() const { return job_name_; }
  // 0: no run has, as far as the file knows.
  double last_success_at() const { return last_success_at_; }
  // Puts the file in its place. Once only. Throws error(output), error(io).
  void write(std::string_view page) { document_.write(page); }

 private:
  std::string job_name_;
  double last_success_at_ = 0;
  pending_document document_;
};

}  // namespace flowrun::runner
