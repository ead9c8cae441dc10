#include "runner/job_loading.h"

#include <algorithm>
#include <filesystem>

#include "operators/registry.h"
#include "specs/yaml_reader.h"

namespace flowrun::runner {

namespace {

int64_t file_bytes(const std::string& path) {
  std::error_code problem;
  if (!std::filesystem::is_regular_file(path, problem)) return -1;
  const auto num_bytes = std::filesystem::file_size(path, problem);
  return problem ? -1 : static_cast<int64_t>(num_bytes);
}

// What stands in the same directory under nearly the same name.
std::string similar_file(const std::string& path) {
  const std::filesystem::path asked(path);
  const std::filesystem::path directory = asked.has_parent_path() ? asked.parent_path() : ".";
  std::vector<std::string> names;
  std::error_code problem;
  for (std::filesystem::directory_iterator at(directory, problem), end; !problem && at != end && names.size() < 10000;
       at.increment(problem))
    names.push_back(at->path().filename().string());
  const std::string found = nearest(asked.filename().string(), names);
  return found.empty() ? found : (asked.has_parent_path() ? (directory / found).string() : found);
}

}  // namespace

loaded_job load(const job_arguments& job, const resource_arguments& given, terminal& screen) {
  std::error_code ignored;
  if (job.text.empty() && !std::filesystem::exists(job.file, ignored)) {
    const std::string similar = similar_file(job.file);
    throw error(error_kind::missing_input, "there is no job " + job.file,
                similar.empty() ? "give the path of a job file (YAML)" : "did you mean '" + similar + "'?");
  }
  specs::read_result read = job.text.empty() ? specs::read_job_file(job.file, job.parameters, job.overrides)
                                             : specs::read_job(job.text, job.file, job.parameters, job.overrides);
  const auto stop_at = [&](const std::vector<fault>& faults) {
    if (faults.empty()) return;
    screen.show_faults(faults, read.text);
    throw faults_shown();
  };
  stop_at(read.faults);
  const auto spec = std::make_shared<const specs::JobSpec>(std::move(read.job));
  // Declarations live as long as the program; the catalog only finds them.
  const plan::operator_catalog catalog = operators::built_in_catalog();
  std::vector<std::string> missing;
  plan::check_result checked = plan::check(spec, catalog, [&missing](const std::string& path) {
    std::error_code problem;
    if (std::filesystem::status(path, problem).type() == std::filesystem::file_type::not_found &&
        std::find(missing.begin(), missing.end(), path) == missing.end())
      missing.push_back(path);
    return file_bytes(path);
  });
  stop_at(checked.faults);
  loaded_job out;
  out.missing_inputs = std::move(missing);
  out.graph = std::make_shared<plan::graph>(std::move(checked.checked));
  out.machine = decide(given, spec->resources(), read_machine_configuration());
  plan::machine machine;
  machine.memory_bytes = out.machine.memory_bytes;
  machine.threads = out.machine.threads;
  machine.num_disks = static_cast<unsigned>(out.machine.scratch.size());
  if (out.machine.disk_depth > 0) machine.disk_depth = out.machine.disk_depth;
  machine.block_bytes = out.machine.block_bytes;
  machine.batch_bytes = out.machine.batch_bytes;
  plan::plan_result planned = plan::make_plan(*out.graph, machine);
  stop_at(planned.faults);
  out.plan = std::move(planned.plan);
  return out;
}

bool may_use_scratch(const loaded_job& job) {
  for (const plan::sort_prediction& s : job.plan.sorts)
    if (!s.known || s.written_bytes > 0) return true;
  return std::any_of(job.plan.queues.begin(), job.plan.queues.end(),
                     [](const plan::queue& q) { return q.kind == plan::queue_kind::spilling; });
}

}  // namespace flowrun::runner
