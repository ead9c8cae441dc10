#include "runner/run_metrics.h"

#include <filesystem>

namespace flowrun::runner {

std::string job_label(const specs::JobSpec& job) {
  if (!job.name().empty()) return job.name();
  const std::string name = std::filesystem::path(job.file()).stem().string();
  return name == "<stdin>" ? "stdin" : name;
}

void run_metrics::serve(const std::string& addresses) {
  try {
    exporter_ = std::make_unique<metrics::exporter>(addresses, values_, job_name_);
  } catch (const metrics::address_taken& problem) {
    screen_.warn(std::string(problem.what()) + "; the job runs without; " + problem.hint());
    return;
  }
  screen_.say("flowrun: metrics at " + exporter_->url() + "\n");
}

}  // namespace flowrun::runner
