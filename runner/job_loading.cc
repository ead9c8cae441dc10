#include "runner/job_loading.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

#include "cluster/output_folder.h"
#include "engine/base/counted.h"
#include "engine/base/machine.h"
#include "engine/base/units.h"
#include "engine/exec/file_preflight.h"
#include "engine/expr/pattern_memory.h"
#include "engine/io/identify.h"
#include "engine/plan/operator_names.h"
#include "runner/home_paths.h"
#include "runner/path_patterns.h"
#include "runner/test_run.h"
#include "runner/words.h"
#include "specs/yaml_reader.h"

namespace flowrun::runner {

int64_t file_bytes(const std::string& path) {
  std::error_code problem;
  if (!std::filesystem::is_regular_file(path, problem)) return -1;
  const auto num_bytes = std::filesystem::file_size(path, problem);
  return problem ? -1 : static_cast<int64_t>(num_bytes);
}

namespace {

// What sizes of texts are estimated from: a few blocks, so that checking stays a matter of milliseconds.
std::string file_beginning(const std::string& path, size_t most_bytes) {
  // In growing steps, so that memory is filled and paid for as far as the file goes: most files are far smaller than
  // `most_bytes`.
  std::string out;
  std::ifstream in(path, std::ios::binary);
  for (size_t step = 64 << 10; in && out.size() < most_bytes; step *= 2) {
    const size_t had = out.size();
    out.resize(std::min(most_bytes, had + step));
    in.read(out.data() + had, static_cast<std::streamsize>(out.size() - had));
    out.resize(had + static_cast<size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  }
  return out;
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

// What the command reads and writes besides the job's own files.
std::vector<plan::file_use> files_of_command(const job_arguments& job, const std::vector<own_output>& outputs) {
  std::vector<plan::file_use> out;
  const auto add = [&](const std::string& path, const std::string& who, bool writes) {
    specs::Position where;
    where.set_origin(who + " " + path);
    if (!path.empty()) out.push_back({path, who, writes, where});
  };
  // What is a directory can't be written anyway, and that is told when its place is tried.
  std::error_code ignored;
  for (const own_output& output : outputs)
    if (!std::filesystem::is_directory(output.path, ignored)) add(output.path, output.option, true);
  add(job.file, job.file == "-" ? "flowrun (for the job)" : "flowrun", false);
  add(read_machine_configuration().path, "flowrun", false);
  return out;
}

// Ends with the first one's code: 66 where an input is missing, 65 where it is not as its node reads it, 73 where an
// output can't be written. What only a graph reads that may never run is a warning.
void show_file_faults(const std::vector<exec::file_fault>& found, const std::string& text, terminal& screen) {
  std::vector<fault> faults;
  std::optional<error_kind> first;
  for (const exec::file_fault& f : found) {
    if (!f.only_if_runs.empty()) {
      screen.warn(fmt::format("{}:{}:{}: {}; the job will fail if '{}' runs", f.what.where.file, f.what.where.line,
                              f.what.where.column, f.what.message, f.only_if_runs));
      continue;
    }
    faults.push_back(f.what);
    if (!first) first = f.kind;
  }
  if (!first) return;
  screen.show_faults(faults, text);
  throw faults_shown(*first, faults);
}

// The nodes in which these faults are; nothing where one is elsewhere: what it hides is not known then.
std::optional<std::set<std::string>> nodes_of_faults(const specs::read_result& read) {
  const auto& nodes = read.job.nodes();
  if (nodes.empty()) return std::nullopt;
  std::map<int, std::string> begins;  // by line
  for (const specs::Node& n : nodes) begins.emplace(n.position().line(), n.id());
  if (begins.size() < static_cast<size_t>(nodes.size())) return std::nullopt;  // several in a line
  // The last one ends where the next part of the job begins.
  int end = 0;
  std::istringstream text(read.text);
  std::string line;
  for (int number = 1; std::getline(text, line) && end == 0; ++number)
    if (number > begins.rbegin()->first && !line.empty() && line[0] != ' ' && line[0] != '#') end = number;
  std::set<std::string> out;
  for (const fault& f : read.faults) {
    const auto behind = begins.upper_bound(f.where.line);
    if (f.where.file != read.job.file() || behind == begins.begin() || (end > 0 && f.where.line >= end))
      return std::nullopt;
    out.insert(std::prev(behind)->second);
  }
  return out;
}

// Where reading has found something, what can be said beside it.
std::vector<fault> faults_beside(const specs::read_result& read) {
  const std::optional<std::set<std::string>> faulty = nodes_of_faults(read);
  if (!faulty || !load_plugins_of(read.job).empty()) return plan::unknown_operators(read.job, known_vocabulary());
  const plan::vocabulary catalog = known_vocabulary();
  std::vector<fault> found = plan::check_beside(std::make_shared<const specs::JobSpec>(read.job), catalog,
                                                plan::known_files(file_bytes, file_beginning), *faulty);
  // Of faulty nodes at least the operator is known to be none.
  for (fault& f : plan::unknown_operators(read.job, catalog)) found.push_back(std::move(f));
  const auto place = [](const fault& f) { return std::tuple(f.where.file, f.where.line, f.where.column); };
  std::set<std::tuple<std::string, int, int>> told;  // one place has one fault
  for (const fault& f : read.faults) told.insert(place(f));
  std::erase_if(found, [&](const fault& f) { return !told.insert(place(f)).second; });
  return found;
}

}  // namespace

faults_shown::faults_shown(error_kind kind, const std::vector<fault>& faults, std::vector<std::string> clashing)
    : std::runtime_error(words_of(faults).front() +
                         (faults.size() > 1 ? fmt::format(" (and {} more)", counted(faults.size() - 1, "fault")) : "")),
      kind_(kind),
      clashing_(std::move(clashing)) {}

bool faults_shown::are_about(std::string_view option) const {
  return std::find(clashing_.begin(), clashing_.end(), option) != clashing_.end();
}

specs::read_result read_job(const job_arguments& job, terminal& screen) {
  std::error_code ignored;
  if (job.file != "-" && !std::filesystem::exists(job.file, ignored)) {
    const std::string similar = similar_file(job.file);
    throw error(error_kind::missing_input, "there is no job " + job.file,
                similar.empty() ? "give the path of a job file (YAML)" : "did you mean '" + similar + "'?");
  }
  specs::read_result read = specs::read_job_file(job.file, job.parameters, job.overrides);
  screen.hide(read.environment);
  return read;
}

loaded_job load(const job_arguments& job, const resource_arguments& given, terminal& screen) {
  return load(read_job(job, screen), job, given, screen, {});
}

loaded_job load(specs::read_result read, const job_arguments& job, const resource_arguments& given, terminal& screen,
                const std::vector<own_output>& outputs) {
  bool only_files = false;  // are wrong
  if (read.faults.empty()) {
    // Plugins have sources, too. What is wrong with them is told by the check.
    load_plugins_of(read.job);
    expand_home(read.job);
    std::vector<fault> unmatched;
    expand_path_patterns(read.job, job.look_at_files, read.faults, unmatched);
    only_files = read.faults.empty();
    std::move(unmatched.begin(), unmatched.end(), std::back_inserter(read.faults));
  }
  if (!read.faults.empty()) {
    std::vector<fault> beside = faults_beside(read);
    if (only_files && beside.empty()) {
      screen.show_faults(read.faults, read.text);
      throw faults_shown(error_kind::missing_input, read.faults);
    }
    std::move(beside.begin(), beside.end(), std::back_inserter(read.faults));
  }
  const std::string text = read.text;
  loaded_job out = planned_or_shown(std::move(read), given, screen, files_of_command(job, outputs));
  if (job.look_at_files) {
    const auto try_output = job.writes_folders ? cluster::output_folder::try_path : nullptr;
    show_file_faults(exec::look_at_files(*out.graph, known_operators(), try_output), text, screen);
  }
  return out;
}

loaded_job planned_or_shown(specs::read_result read, const resource_arguments& given, terminal& screen,
                            std::vector<plan::file_use> own, bool may_replace_inputs) {
  const auto stop_at = [&](const std::vector<fault>& faults, const std::vector<std::string>& clashing) {
    if (faults.empty()) return;
    screen.show_faults(faults, read.text);
    throw faults_shown(error_kind::bad_spec, faults, clashing);
  };
  stop_at(read.faults, {});
  planned_job planned =
      plan_job(std::make_shared<const specs::JobSpec>(std::move(read.job)), given, std::move(own), may_replace_inputs);
  stop_at(planned.faults, planned.clashing);
  const resources& machine = planned.job.machine;
  if (machine.memory_bytes > usable_memory())
    screen.warn(fmt::format("the memory budget of {} ({}) is more than the {} that can be used here",
                            format_bytes(machine.memory_bytes), machine.memory_from, format_bytes(usable_memory())));
  return std::move(planned.job);
}

plan::check_result check_job(std::shared_ptr<const specs::JobSpec> spec, std::vector<std::string>& missing,
                             std::vector<plan::file_use> own, bool may_replace_inputs,
                             std::function<void(const plan::file_use&, const plan::file_use&)> on_clash,
                             std::vector<expr::constant> scalars,
                             std::function<bool(const std::string&)> becomes_folder) {
  if (std::vector<fault> faults = load_plugins_of(*spec); !faults.empty()) return {{}, std::move(faults)};
  // Declarations live as long as the program; the catalog only finds them.
  const plan::vocabulary catalog = known_vocabulary();
  const auto num_bytes = [&missing](const std::string& path) {
    std::error_code problem;
    if (std::filesystem::status(path, problem).type() == std::filesystem::file_type::not_found &&
        std::find(missing.begin(), missing.end(), path) == missing.end())
      missing.push_back(path);
    return file_bytes(path);
  };
  return plan::check(std::move(spec), catalog, plan::known_files(num_bytes, file_beginning),
                     {io::identify, io::resolved_path, std::move(own), may_replace_inputs, std::move(on_clash),
                      std::move(becomes_folder)},
                     std::move(scalars));
}

planned_job plan_job(std::shared_ptr<const specs::JobSpec> spec, const resource_arguments& given,
                     std::vector<plan::file_use> own, bool may_replace_inputs, std::vector<expr::constant> scalars) {
  planned_job out;
  const auto note_clash = [&out](const plan::file_use& a, const plan::file_use& b) {
    out.clashing.insert(out.clashing.end(), {a.who, b.who});
  };
  plan::check_result checked =
      check_job(spec, out.job.missing_inputs, std::move(own), may_replace_inputs, note_clash, std::move(scalars),
                given.for_tasks ? cluster::output_folder::is_made_at : nullptr);
  out.faults = std::move(checked.faults);
  if (!out.faults.empty()) return out;
  out.job.graph = std::make_shared<plan::graph>(std::move(checked.checked));
  resources& decided = out.job.machine;
  decided = decide(given, spec->resources(), read_machine_configuration());
  check_scratch(decided);
  plan::machine machine = machine_of(decided);
  machine.pattern_bytes = expr::pattern_bytes_in_budget();
  plan::plan_result planned = plan::make_plan(*out.job.graph, machine);
  if (given.for_tasks && !planned.faults.empty()) {
    machine.memory_bytes = plan::least_memory(*out.job.graph, machine);
    planned = plan::make_plan(*out.job.graph, machine);
  }
  out.faults = std::move(planned.faults);
  out.job.plan = std::move(planned.plan);
  return out;
}

exec::job_settings settings_of(const loaded_job& loaded, const run_arguments& arguments) {
  exec::job_settings out;
  out.graph = loaded.graph;
  out.plan = loaded.plan;
  out.operators = known_operators();
  out.scratch = loaded.machine.scratch;
  out.scratch_limit = loaded.machine.scratch_limit;
  out.allocation = loaded.machine.allocation;
  out.io_order = loaded.machine.io_order;
  out.backend = arguments.backend;
  out.plain_executor = arguments.plain_executor;
  out.options = arguments.engine;
  const specs::JobSpec& job = *loaded.graph->job;
  std::optional<bool> verify = arguments.verify;
  if (!verify && job.has_verify()) verify = job.verify();
  out.options.verify = !verify ? verified_sorts : *verify ? exec::verification::all : exec::verification::none;
  out.options.block_bytes = loaded.machine.block_bytes;
  out.options.batch_bytes = loaded.machine.batch_bytes;
  return out;
}

bool may_use_scratch(const loaded_job& job) {
  if (!job.plan.bodies.empty()) return true;  // what a loop will carry is not known
  if (job.plan.predicted_scratch_written > 0) return true;
  for (const plan::sort_prediction& s : job.plan.sorts)
    if (!s.known) return true;
  return std::any_of(job.plan.queues.begin(), job.plan.queues.end(),
                     [](const plan::queue& q) { return q.kind == plan::queue_kind::spilling; });
}

}  // namespace flowrun::runner
