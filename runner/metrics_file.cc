#include "runner/metrics_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <utility>

#include "engine/base/error.h"
#include "engine/io/followed_path.h"
#include "engine/io/output_target.h"
#include "engine/metrics/names.h"

namespace flowrun::runner {

namespace {

using metrics::metric;

// A page of a job with a thousand nodes has less. What is longer isn't ours.
constexpr size_t most_bytes = size_t{16} << 20;

std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

// What a run leaves is read later, and a pipe or a device keeps nothing; opening a pipe would wait for its reader.
const std::string& kept_file(const std::string& path) {
  if (io::output_target::is_stream(io::followed_output(path)))
    throw error(error_kind::output, fmt::format("can't write {}: --metrics-file needs a regular file", path),
                "give a file in the directory that node_exporter reads (--collector.textfile.directory)");
  return path;
}

// Empty where there is none yet.
std::string earlier_page(const std::string& path) {
  std::error_code problem;
  if (!std::filesystem::is_regular_file(path, problem)) return {};
  std::ifstream in(path, std::ios::binary);
  std::string out(most_bytes + 1, '\0');
  in.read(out.data(), static_cast<std::streamsize>(out.size()));
  if (!in.is_open() || in.bad())
    throw error(error_kind::output, fmt::format("can't read {}, which --metrics-file would replace", path),
                "it holds the time of the job's last success: give its owner's rights, or another path");
  out.resize(static_cast<size_t>(in.gcount()));
  if (out.size() > most_bytes || !is_page_of_metrics(out))
    throw error(error_kind::output,
                fmt::format("{} holds something else than metrics, and --metrics-file would replace it", path),
                "give another path, or remove that file");
  return out;
}

}  // namespace

void collect_outcome(const run_outcome& outcome, metrics::sink& into) {
  const bool success = outcome.exit_code == 0;
  const double ended_at = outcome.started_at + outcome.seconds;
  into.value(metric::flowrun_job_start_timestamp_seconds, {}, outcome.started_at);
  into.value(metric::flowrun_job_end_timestamp_seconds, {}, ended_at);
  into.value(metric::flowrun_job_duration_seconds, {}, outcome.seconds);
  into.value(metric::flowrun_job_success, {}, success ? 1 : 0);
  into.value(metric::flowrun_job_exit_code, {}, outcome.exit_code);
  into.value(metric::flowrun_job_last_success_timestamp_seconds, {}, success ? ended_at : outcome.last_success_at);
}

std::optional<double> last_success_in(std::string_view page, std::string_view job_name) {
  const std::string series =
      fmt::format("{}{{{}=\"{}\"}} ", metrics::declaration_of(metric::flowrun_job_last_success_timestamp_seconds).name,
                  metrics::common_label, label_value(job_name));
  while (!page.empty()) {
    const size_t end = std::min(page.find('\n'), page.size());
    const std::string_view line = page.substr(0, end);
    page.remove_prefix(std::min(end + 1, page.size()));
    if (!line.starts_with(series)) continue;
    const std::string_view number = line.substr(series.size());
    double value = 0;
    const auto [stop, problem] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (problem == std::errc() && stop == number.data() + number.size() && value >= 0) return value;
    return std::nullopt;
  }
  return std::nullopt;
}

std::string job_name_in(std::string_view page) {
  const std::string series =
      fmt::format("\n{}{{{}=\"", metrics::declaration_of(metric::flowrun_job_exit_code).name, metrics::common_label);
  const size_t at = page.find(series);
  if (at == std::string_view::npos) return {};
  std::string out;
  for (size_t i = at + series.size(); i < page.size() && page[i] != '"'; ++i) {
    const bool escaped = page[i] == '\\' && ++i < page.size();
    if (i == page.size()) break;
    out += escaped && page[i] == 'n' ? '\n' : page[i];
  }
  return out;
}

bool is_page_of_metrics(std::string_view text) { return text.empty() || text.starts_with("# HELP flowrun_"); }

metrics_file::metrics_file(const std::string& path, std::string job_name)
    : job_name_(std::move(job_name)), document_(kept_file(path)) {
  const std::string page = earlier_page(path);
  if (job_name_.empty()) job_name_ = job_name_in(page);
  last_success_at_ = last_success_in(page, job_name_).value_or(0);
}

}  // namespace flowrun::runner
