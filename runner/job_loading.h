// From a file to a plan: reads, checks and plans a job, and says everything that is wrong with it.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/exec/job.h"
#include "engine/plan/file_rules.h"
#include "engine/plan/physical_plan.h"
#include "runner/options.h"
#include "runner/resources.h"
#include "runner/terminal.h"
#include "specs/yaml_reader.h"

namespace flowrun::runner {

// The job is wrong, or files are not as it needs them, and all faults have been shown. The command ends with this code.
class faults_shown : public std::runtime_error {
 public:
  // what() tells the first one. `clashing`: planned_job.
  faults_shown(error_kind kind, const std::vector<fault>& faults, std::vector<std::string> clashing = {});
  int exit_code() const { return static_cast<int>(kind_); }
  // Whether one of them is that the job reads or writes the file that this option of the command names (own_output).
  bool are_about(std::string_view option) const;

 private:
  error_kind kind_;
  std::vector<std::string> clashing_;
};

struct loaded_job {
  std::shared_ptr<plan::graph> graph;
  plan::physical_plan plan;
  resources machine;
  std::vector<std::string> missing_inputs;  // that a run would fail for
};

// The job's text, read. What is wrong with it is told by what loads it. Throws error(missing_input) when there is no
// such file.
specs::read_result read_job(const job_arguments& job, terminal& screen);

// A file that the command writes besides those of the job, and the option that names it. The path may be empty: none.
struct own_output {
  std::string option;
  std::string path;
};

// Throws faults_shown.
loaded_job load(specs::read_result read, const job_arguments& job, const resource_arguments& given, terminal& screen,
                const std::vector<own_output>& outputs);
// Reads it, too.
loaded_job load(const job_arguments& job, const resource_arguments& given, terminal& screen);

// The same for a job that has been read, from a file or not. Throws faults_shown. `own`, `may_replace_inputs`:
// plan::outer_files.
loaded_job planned_or_shown(specs::read_result read, const resource_arguments& given, terminal& screen,
                            std::vector<plan::file_use> own = {}, bool may_replace_inputs = false);

// The same, but the caller shows the faults. The result is whole only if there are none.
struct planned_job {
  loaded_job job;
  std::vector<fault> faults;
  std::vector<std::string> clashing;  // who uses a file that another one uses, where that is a fault: 'out', --report
};
// `scalars`: as plan::check() has them.
planned_job plan_job(std::shared_ptr<const specs::JobSpec> spec, const resource_arguments& given,
                     std::vector<plan::file_use> own = {}, bool may_replace_inputs = false,
                     std::vector<expr::constant> scalars = {});

// Of a regular file; -1 for what is none.
int64_t file_bytes(const std::string& path);

// What the operators say about a job that has been read: row types, unknown columns. Files that aren't there are
// listed in `missing`. `on_clash`, `becomes_folder`: plan::outer_files.
plan::check_result check_job(std::shared_ptr<const specs::JobSpec> spec, std::vector<std::string>& missing,
                             std::vector<plan::file_use> own = {}, bool may_replace_inputs = false,
                             std::function<void(const plan::file_use&, const plan::file_use&)> on_clash = {},
                             std::vector<expr::constant> scalars = {},
                             std::function<bool(const std::string&)> becomes_folder = {});

// Unless a job or the command line says otherwise.
constexpr exec::verification verified_sorts = exec::verification::fixed_width;

// How a run carries out a loaded job.
exec::job_settings settings_of(const loaded_job& loaded, const run_arguments& arguments);

// True when the plan may write scratch, so that the place of scratch matters.
bool may_use_scratch(const loaded_job& job);

}  // namespace flowrun::runner
