#include "runner/report_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/machine.h"
#include "engine/exec/job_report.h"
#include "runner/job_page.h"
#include "runner/page_document.h"
#include "runner/run_metrics.h"

namespace flowrun::runner {

namespace {

// False: what is there was written by somebody else. A run that hasn't begun doesn't know yet whether it reads it.
bool may_be_replaced(const std::string& path) {
  std::error_code problem;
  const std::filesystem::file_status there = std::filesystem::status(path, problem);
  if (there.type() != std::filesystem::file_type::regular) return there.type() == std::filesystem::file_type::not_found;
  std::ifstream in(path, std::ios::binary);
  const std::optional<exec::RunReport> report = report_in({std::istreambuf_iterator<char>(in), {}});
  return report && !report->status().empty();
}

}  // namespace

void report_file::open() {
  if (path_.empty()) return;
  is_over_ = true;  // unless it can be opened
  document_ = std::make_unique<pending_document>(path_);
  is_over_ = false;
}

void report_file::write(const std::string& document) {
  if (path_.empty()) return;
  is_over_ = true;
  document_->write(document);
}

void report_file::write_of_success(const std::string& document) {
  try {
    write(document);
  } catch (const error& problem) {
    throw error(problem.kind(),
                fmt::format("the job has succeeded, and its outputs are there, but not its report: {}", problem.what()),
                problem.hint());
  }
}

void report_file::write_unbegun(const std::string& job, const std::exception& problem,
                                const terminal& screen) noexcept {
  if (path_.empty() || is_over_) return;
  try {
    exec::RunReport report;
    report.set_job(job);
    report.set_format(exec::report_format);
    report.set_host(host_name());
    report.set_start(exec::report_time(static_cast<int64_t>(unix_seconds() * 1e6)));
    report.set_end(report.start());
    report.set_status("failed");
    report.set_error(problem.what());
    if (!document_ && !may_be_replaced(path_)) return;
    if (!document_) open();
    write(report_document(std::move(report), screen));
  } catch (const std::exception&) {
  }
}

}  // namespace flowrun::runner
