// flowrun check: everything that can be known before a run, all faults at once.
#include <algorithm>
#include <optional>
#include <set>

#include "engine/base/counted.h"
#include "runner/commands.h"
#include "runner/disk_room.h"
#include "runner/job_loading.h"
#include "runner/test_preparation.h"

namespace flowrun::runner {

namespace {

// What `flowrun test` would say of the job's tests before it runs them; false: something.
bool tests_are_right(const spec_file& spec, size_t num_tests, terminal& screen) {
  std::vector<fault> all;
  std::set<std::string> known;  // what is wrong with the job for two tests' parameters is the same
  for (size_t i = 0; i < num_tests; ++i) {
    preparation ready = prepare_test(spec, i);
    screen.hide(ready.environment);
    std::vector<fault>& found = ready.faults;
    if (found.empty() && ready.prepared.test.fails.empty()) found = std::move(ready.job_faults);
    for (fault& f : found)
      if (known.insert(render({f}, spec.text)).second) all.push_back(std::move(f));
  }
  if (!all.empty()) screen.show_faults(all, spec.text);
  return all.empty();
}

int check_one(const job_arguments& job, const resource_arguments& resources, terminal& screen) {
  specs::read_result read = read_job(job, screen);
  const spec_file spec{read.job.file(), read.text};
  const auto num_tests = static_cast<size_t>(read.job.tests_size());
  std::optional<loaded_job> loaded;
  int code = 0;
  try {
    loaded = load(std::move(read), job, resources, screen, {});
  } catch (const faults_shown& shown) {
    code = shown.exit_code();
    if (code == static_cast<int>(error_kind::bad_spec)) return code;  // its tests would say the same
  }
  if (!tests_are_right(spec, num_tests, screen)) return static_cast<int>(error_kind::bad_spec);
  if (!loaded) return code;
  try_scratch(loaded->machine, job.look_at_files && may_use_scratch(*loaded));
  check_scratch_room(loaded->plan, loaded->machine, false, screen);
  if (job.look_at_files) check_output_room(*loaded->graph, false, screen);
  screen.say(fmt::format("{}: no faults; {}, {}{}\n", loaded->graph->job->file(),
                         counted(loaded->graph->nodes.size(), "node"), counted(loaded->plan.phases.size(), "phase"),
                         num_tests > 0 ? ", " + counted(num_tests, "test") : std::string()));
  return code;
}

}  // namespace

int check(const check_arguments& arguments, terminal& screen) {
  int code = 0;
  for (const std::string& file : arguments.files) {
    job_arguments job = arguments.job;
    job.file = file;
    // Each job says what is wrong with it, whatever is with those before it. Faults have the highest code.
    try {
      code = std::max(code, check_one(job, arguments.resources, screen));
    } catch (const error& problem) {
      if (arguments.files.size() == 1 || problem.kind() == error_kind::usage) throw;
      const std::string what = problem.what();
      const bool names_it = what.find(file) != std::string::npos;
      screen.show(error(problem.kind(), names_it ? what : file + ": " + what, problem.hint()));
      code = std::max(code, problem.exit_code());
    }
  }
  return code;
}

}  // namespace flowrun::runner
