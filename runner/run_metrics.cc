#include "runner/run_metrics.h"

#include <chrono>

namespace flowrun::runner {

namespace {

using metrics::metric;

}  // namespace

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

run_metrics::run_metrics(std::string job_name, terminal& screen)
    : job_name_(std::move(job_name)), screen_(screen), started_at_(unix_seconds()), start_ns_(now_ns()) {}

void run_metrics::write_at_end(const std::string& path, bool name_is_known) {
  file_ = std::make_unique<metrics_file>(path, name_is_known ? job_name_ : "");
  if (!file_->job_name().empty()) job_name_ = file_->job_name();
  if (!path.ends_with(".prom"))
    screen_.warn("--metrics-file " + path + ": node_exporter reads only files whose names end in .prom");
}

void run_metrics::serve(const std::string& addresses) {
  own_ = values_.attach(
      [started_at = started_at_, last_success_at = file_ ? file_->last_success_at() : 0](metrics::sink& into) {
        into.value(metric::flowrun_job_start_timestamp_seconds, {}, started_at);
        // Without a file nobody knows, which is something else than a job that has never succeeded.
        if (last_success_at > 0) into.value(metric::flowrun_job_last_success_timestamp_seconds, {}, last_success_at);
      });
  try {
    exporter_ = std::make_unique<metrics::exporter>(addresses, values_, job_name_);
  } catch (const metrics::address_taken& problem) {
    screen_.warn(std::string(problem.what()) + "; the job runs without; " + problem.hint());
    return;
  }
  screen_.say("flowrun: metrics at " + exporter_->url() + "\n");
}

void run_metrics::end(int exit_code, const metrics::collector& totals) noexcept {
  if (!file_) return;
  try {
    const std::unique_ptr<metrics_file> file = std::move(file_);
    const run_outcome outcome = {started_at_, static_cast<double>(now_ns() - start_ns_) * 1e-9, exit_code,
                                 file->last_success_at()};
    metrics::collection values;
    const metrics::collection::attachment attached = values.attach([&](metrics::sink& into) {
      collect_outcome(outcome, into);
      if (totals) totals(into);
    });
    file->write(metrics::page_of(values, job_name_));
  } catch (const std::exception& problem) {
    screen_.warn(std::string("the file of --metrics-file was not written: ") + problem.what());
  }
}

}  // namespace flowrun::runner
