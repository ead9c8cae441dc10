// flowrun clean: what jobs with --resume have left in scratch directories, and away with it.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <set>

#include "cluster/run_directory.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/resume/manifest.h"
#include "engine/resume/resume_directory.h"
#include "runner/commands.h"
#include "runner/document.h"
#include "runner/machine_configuration.h"
#include "runner/resources.h"

namespace flowrun::runner {

namespace {

void check_readable(const std::string& directory) {
  if (::access(directory.c_str(), R_OK | X_OK) != 0 && errno != ENOENT)
    throw error(error_kind::missing_input, fmt::format("can't look into {}: {}", directory, errno_text(errno)),
                "run it as the user whose jobs spill there");
}

// Each once, however it is spelled.
std::vector<std::string> places(const clean_arguments& arguments) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  std::error_code problem;
  for (const std::string& path : arguments.directories) {
    if (!std::filesystem::is_directory(path, problem) && problem != std::errc::permission_denied)
      throw error(error_kind::missing_input, fmt::format("{} is no directory", path),
                  "name the scratch directories of the jobs (-T, or resources: scratch)");
    check_readable(path);
    if (seen.insert(std::filesystem::canonical(path).string()).second) out.push_back(path);
  }
  if (!out.empty()) return out;
  for (const block::disk_config& disk : decide({}, {}, read_machine_configuration()).scratch) {
    check_readable(disk.path);
    out.push_back(disk.path);
  }
  return out;
}

std::string described(const resume::found_directory& found) {
  const int64_t now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::string job = found.manifest.empty() ? std::string() : resume::summary_of(found.manifest).job;
  return fmt::format("{}: {}, {} old{}{}", found.path, format_bytes(found.num_bytes),
                     format_duration(static_cast<double>(std::max<int64_t>(now - found.changed_s, 0))),
                     job.empty() ? "" : ", of " + job,
                     found.outputs.empty() ? "" : fmt::format(", with {}", fmt::join(found.outputs, ", ")));
}

}  // namespace

int clean(const clean_arguments& arguments, terminal& screen) {
  uint64_t num_bytes = 0;
  size_t num_found = 0, num_failed = 0;
  for (const std::string& place : places(arguments))
    for (const resume::found_directory& found : resume::find_resume_directories(place)) {
      ++num_found;
      std::string cause;
      const std::string what = described(found);
      if (found.has_other_files) {
        screen.warn(fmt::format("{}; it has files that no job makes: left", what));
      } else if (found.is_at_work) {
        print_lines(fmt::format("{}; a job works there: left\n", what));
      } else if (arguments.only_list) {
        print_lines(fmt::format("{}; would be removed\n", what));
        num_bytes += found.num_bytes;
      } else if (resume::remove_if_dead(found, cause)) {
        print_lines(fmt::format("{}; removed\n", what));
        num_bytes += found.num_bytes;
      } else {
        ++num_failed;
        screen.warn(fmt::format("{}; can't be removed: {}", what, cause.empty() ? "a job works there now" : cause));
      }
    }
  for (const std::string& place : places(arguments))
    for (const cluster::found_run& found : cluster::find_runs(place)) {
      ++num_found;
      const std::string what = fmt::format("{}: {}, of a job on a cluster", found.path, format_bytes(found.num_bytes));
      if (found.is_at_work) {
        print_lines(fmt::format("{}; its driver works there: left\n", what));
        continue;
      }
      if (!arguments.only_list && !cluster::remove_if_dead(found)) {
        ++num_failed;
        screen.warn(fmt::format("{}; can't be removed", what));
        continue;
      }
      print_lines(fmt::format("{}; {}\n", what, arguments.only_list ? "would be removed" : "removed"));
      num_bytes += found.num_bytes;
    }
  if (num_found == 0)
    screen.say(fmt::format("flowrun: nothing to clean in {}{}\n", fmt::join(places(arguments), ", "),
                           arguments.directories.empty()
                               ? "; of jobs with other scratch (-T, resources: scratch) name it: "
                                 "flowrun clean DIR"
                               : ""));
  else
    screen.say(fmt::format("flowrun: {} {}\n", format_bytes(num_bytes), arguments.only_list ? "to be freed" : "freed"));
  return num_failed == 0 ? 0 : static_cast<int>(error_kind::io);
}

}  // namespace flowrun::runner
