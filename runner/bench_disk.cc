// flowrun bench-disk: how fast directories are, and what that means for sorting there.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <optional>

#include "engine/base/clock.h"
#include "engine/base/units.h"
#include "engine/io/disk_probe.h"
#include "runner/bench_report.h"
#include "runner/benched_directories.h"
#include "runner/commands.h"
#include "runner/disk_search.h"
#include "runner/document.h"
#include "runner/interrupts.h"
#include "runner/machine_configuration.h"

namespace flowrun::runner {

namespace {

// One directory then takes 9 steps of the search, 9 for the last measurements and up to 4 to fill its file: 26 s.
constexpr double seconds_by_default = 1.2;
constexpr double seconds_when_quick = 0.3;
constexpr double steps_to_fill = 4;
// Filling a slow disk ends early, but not before there is this much.
constexpr uint64_t least_to_fill = 64 * MiB;

constexpr uint64_t between_lines_ns = 10'000'000'000;

// Where the benchmark is: a line that changes on a terminal, elsewhere one every ten seconds.
class bench_progress {
 public:
  explicit bench_progress(terminal& screen) : screen_(screen), shown_ns_(now_ns()) {}
  ~bench_progress() { screen_.erase_line(); }
  bench_progress(const bench_progress&) = delete;
  bench_progress& operator=(const bench_progress&) = delete;

  void show(const std::string& text) {
    if (screen_.quiet()) return;
    const std::string line = "flowrun: bench-disk: " + text;
    if (screen_.is_terminal()) return screen_.redraw(line.substr(0, screen_.width() - 1));
    const uint64_t now = now_ns();
    if (now - shown_ns_ < between_lines_ns) return;
    shown_ns_ = now;
    screen_.say(line + "\n");
  }

 private:
  terminal& screen_;
  uint64_t shown_ns_;
};

std::vector<io::file*> files_of(const std::vector<benched_directory>& directories) {
  std::vector<io::file*> out;
  for (const benched_directory& d : directories) out.push_back(d.scratch.get());
  return out;
}

std::vector<uint64_t> fill(io::disk_probe& probe, const std::vector<benched_directory>& directories, double seconds,
                           bench_progress& progress) {
  std::vector<uint64_t> out;
  for (size_t i = 0; i < directories.size(); ++i) {
    const benched_directory& d = directories[i];
    progress.show(fmt::format("filling {} in {}", format_bytes(d.file_bytes), d.path));
    const auto patience = static_cast<uint64_t>(steps_to_fill * seconds * 1e9);
    out.push_back(probe.fill(i, d.file_bytes, std::min(d.file_bytes, least_to_fill), now_ns() + patience));
  }
  return out;
}

search_result measure(io::disk_probe& probe, const std::vector<benched_directory>& directories,
                      const std::vector<uint64_t>& file_bytes, const search_settings& settings,
                      bench_progress& progress, terminal& screen) {
  return search(probe, file_bytes, settings, [&](const search_step& step) {
    const std::string where = step.disk < directories.size() ? directories[step.disk].path : "all together";
    const std::string what =
        fmt::format("{}, {} {} x {}", where, name_of(step.pattern), format_bytes(step.block_bytes), step.depth);
    screen.detail("measuring " + what);
    progress.show(fmt::format("{} of {}, {}, {} left", step.done + 1, step.total, what,
                              format_duration(settings.seconds * static_cast<double>(step.total - step.done))));
  });
}

// What was measured is told even when it can't be saved.
void report(const bench_findings& found, const std::string& format,
            const std::optional<configuration_file>& configuration, terminal& screen) {
  const measured_disks best = suggestion_of(found);
  if (format == "text") print(bench_text(found));
  try {
    if (configuration)
      for (const std::string& line : configuration->save(best)) screen.say("flowrun: " + line + "\n");
  } catch (const error&) {
    if (format == "json") print(bench_json(found, ""));
    throw;
  }
  if (format == "json")
    print(bench_json(found, configuration ? configuration->path() : ""));
  else if (configuration)
    print("written to " + configuration->path() + ":\n\n" + configuration->text_with(best));
  else
    print("for the machine's configuration (--save writes it), or for a job:\n\n" + merged_configuration("", "", best));
}

int bench(const bench_disk_arguments& arguments, const interrupts& signals, terminal& screen) {
  std::optional<configuration_file> configuration;
  if (arguments.save) configuration.emplace(arguments.configuration);
  const std::vector<benched_directory> directories = open_directories(arguments, screen);
  const double seconds = arguments.seconds > 0 ? arguments.seconds
                         : arguments.quick     ? seconds_when_quick
                                               : seconds_by_default;
  const auto in_flight = static_cast<unsigned>(directories.size()) * std::max(8U, arguments.depths.back());
  const auto carrier = io::make_backend(arguments.backend, std::min(in_flight, 4096U));
  io::disk_probe probe(*carrier, files_of(directories), signals.requested());
  std::vector<uint64_t> file_bytes;
  search_result result;
  {
    bench_progress progress(screen);
    file_bytes = fill(probe, directories, seconds, progress);
    const search_settings settings = {arguments.block_sizes, arguments.depths, seconds};
    result = measure(probe, directories, file_bytes, settings, progress, screen);
  }
  const bench_findings found = {directories, file_bytes, result, std::string(carrier->name()), seconds};
  report(found, arguments.format, configuration, screen);
  return 0;
}

}  // namespace

int bench_disk(const bench_disk_arguments& arguments, terminal& screen) {
  const interrupts signals;
  try {
    return bench(arguments, signals, screen);
  } catch (const error& problem) {
    if (problem.kind() != error_kind::cancelled || signals.signal() == 0) throw;
    screen.show(error(error_kind::cancelled, "stopped by a signal", "nothing was saved, and nothing is left behind"));
    return 128 + signals.signal();
  }
}

}  // namespace flowrun::runner
