#include "runner/cluster_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>

#include "cluster/damaged_file.h"
#include "cluster/driver.h"
#include "cluster/run_directory.h"
#include "engine/base/counted.h"
#include "engine/base/machine.h"
#include "engine/base/units.h"
#include "engine/exec/job_report.h"
#include "runner/cluster_metrics.h"
#include "runner/document.h"
#include "runner/exit_codes.h"
#include "runner/interrupts.h"
#include "runner/job_page.h"
#include "runner/progress_display.h"
#include "runner/resuming.h"
#include "runner/run_words.h"
#include "runner/task_memory.h"
#include "runner/version.h"
#include "runner/words.h"
#include "specs/job_name.h"

namespace flowrun::runner {

namespace {

void add(std::vector<std::string>& to, const std::string& option, const std::string& value) {
  to.push_back(option);
  to.push_back(value);
}

// How many cores Spark or Dask has isn't known here.
size_t most_tasks_of(const cluster::place& where, size_t given) {
  constexpr size_t on_engine = 16;
  if (given > 0) return given;
  return where.engine == cluster::engine_kind::local ? where.local_width : on_engine;
}

// The memory of a task. What this machine has is shared by those that run here at once; on Spark and Dask, where a task
// has one core, -m is a task's.
uint64_t task_bytes(const resources& machine, const cluster::place& where) {
  if (where.local_width > 0) return machine.memory_bytes / where.local_width;
  return machine.memory_bytes / (machine.memory_from == "default" ? std::max(machine.threads, 1U) : 1);
}

// Of a run that can be gone on with, the directory of its command.
std::unique_ptr<cluster::run_directory> open_directory(const loaded_job& loaded, const run_arguments& arguments,
                                                       const cluster::place& where, terminal& screen) {
  const std::string& scratch = loaded.machine.scratch.front().path;
  if (!arguments.resume) return std::make_unique<cluster::run_directory>(scratch);
  const resume::job_identity identity = identity_of(loaded, arguments.job);
  cluster::run_facts facts;
  for (const resume::job_identity::fact& fact : identity.facts) facts[fact.name] = fact.value;
  // What is there is told by the numbers of stages and tasks, which mean others where a job is divided otherwise.
  facts["--cluster"] = arguments.cluster;
  facts["--divide-from"] = format_bytes(arguments.least_divided_bytes);
  facts["--tasks"] = arguments.tasks > 0
                         ? fmt::format("{}", arguments.tasks)
                         : fmt::format("left out, with {} for each", format_bytes(task_bytes(loaded.machine, where)));
  for (const resume::input_contents& in : identity.inputs)
    facts[in.path] = fmt::format("{} {} {} {} {}", in.num_bytes, in.modified_ns, in.changed_ns, in.inode, in.content);
  auto out = std::make_unique<cluster::run_directory>(scratch, fmt::format("{:016x}", identity.key), facts);
  if (!out->reasons_to_start_over().empty())
    screen.warn(fmt::format("starts over: {}", fmt::join(out->reasons_to_start_over(), "; ")));
  return out;
}

// Where users say nothing of the number of tasks, there are as many as can sort without scratch.
cluster::divided_job divided(const loaded_job& loaded, const cluster::place& where, size_t tasks) {
  return cluster::divide(loaded.graph, most_tasks_of(where, tasks), file_bytes,
                         tasks > 0 ? 0 : task_bytes(loaded.machine, where));
}

// Of those that share the command's -m.
size_t tasks_at_once(const cluster::place& where) { return std::max<size_t>(where.local_width, 1); }

// What a task may use. On Spark and Dask -j is a task's, too.
resources of_task(const resources& machine, const cluster::place& where) {
  const bool is_local = where.engine == cluster::engine_kind::local;
  const size_t width = is_local ? where.local_width : 1;
  resources out = machine;
  out.memory_bytes = task_bytes(machine, where);
  const bool one_thread = !is_local && machine.threads_from == "default";
  out.threads = one_thread ? 1 : static_cast<unsigned>(std::max<size_t>(machine.threads / width, 1));
  for (block::disk_config& disk : out.scratch) disk.limit /= width;
  out.scratch_limit /= width;
  return out;
}

// How a worker is to work, with what it may use.
std::vector<std::string> worker_options(const resources& machine, const run_arguments& arguments) {
  std::vector<std::string> out;
  add(out, "-m", std::to_string(machine.memory_bytes));
  add(out, "-j", std::to_string(machine.threads));
  for (const block::disk_config& disk : machine.scratch) {
    // With a slash behind it nothing of a path is taken for a limit.
    const bool looks_limited = disk.path.find(':', disk.path.rfind('/') + 1) != std::string::npos;
    add(out, "-T",
        disk.limit > 0 ? fmt::format("{}:{}", disk.path, disk.limit) : disk.path + (looks_limited ? "/" : ""));
  }
  if (machine.scratch_limit > 0) add(out, "--scratch-limit", std::to_string(machine.scratch_limit));
  if (machine.block_bytes > 0) add(out, "--block-size", std::to_string(machine.block_bytes));
  if (machine.batch_bytes > 0) add(out, "--batch-size", std::to_string(machine.batch_bytes));
  if (machine.disk_depth > 0) add(out, "--depth", std::to_string(machine.disk_depth));
  if (arguments.backend != io::backend_kind::automatic) add(out, "--backend", name_of(arguments.backend));
  if (arguments.plain_executor) out.emplace_back("--plain-executor");
  if (arguments.engine.force_spill) out.emplace_back("--force-spill");
  if (!arguments.engine.direct) out.emplace_back("--no-direct");
  if (!arguments.engine.sync_outputs) out.emplace_back("--no-sync");
  if (arguments.verify) out.emplace_back(*arguments.verify ? "--verify" : "--no-verify");
  for (const std::string& directory : plugin_directories()) add(out, "--plugin", directory);
  for (const auto& plugin : loaded_plugins()) add(out, "--plugin", plugin->file.path);
  return out;
}

std::string this_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Stages are what phases are on one machine. How long those will take that are still to come isn't known; so a time
// that is left is told of the last one alone.
exec::job_progress progress_of(const cluster::driver_progress& now) {
  exec::job_progress out;
  out.phase = now.stage;
  out.num_phases = now.num_stages;
  out.rows_done = now.rows;
  out.bytes_read = now.bytes_read;
  out.activity = fmt::format("{}: {} of {}", now.inside.empty() ? now.nodes : now.inside, now.num_done,
                             counted(now.num_tasks, "task"));
  out.work.done = static_cast<double>(now.stage) + now.ratio;
  out.work.ratio = out.work.done / static_cast<double>(std::max<size_t>(now.num_stages, 1));
  out.work.exact = false;
  if (now.stage + 1 == now.num_stages) out.work.left_now = 1 - now.ratio;
  out.done_ratio = out.work.ratio;
  return out;
}

int64_t us_since_1970() { return static_cast<int64_t>(unix_seconds() * 1e6); }

// What the driver's report doesn't say of the run. How many tasks an engine runs at once isn't known here: so what all
// of them have together is told only of those on this machine.
class run_description {
 public:
  run_description(const loaded_job& loaded, const std::string& cluster) : loaded_(loaded), cluster_(cluster) {}

  exec::RunReport described(exec::RunReport report, const char* status) const {
    report.set_status(status);
    report.set_host(host_name());
    report.set_start(exec::report_time(start_us_));
    report.set_wall_seconds(seconds_since(start_));
    report.set_io_backend(cluster_);
    if (cluster::place_of(cluster_).engine == cluster::engine_kind::local) {
      report.set_threads(loaded_.machine.threads);
      report.set_memory_budget_bytes(loaded_.machine.memory_bytes);
    }
    for (const specs::Param& p : loaded_.graph->job->params()) {
      exec::RunReport::Parameter& parameter = *report.add_parameters();
      parameter.set_name(p.name());
      parameter.set_value(p.value());
    }
    return report;
  }
  exec::RunReport ended(exec::RunReport report, const char* status) const {
    report = described(std::move(report), status);
    report.set_end(exec::report_time(us_since_1970()));
    return report;
  }
  exec::RunReport running(exec::RunReport report, const exec::job_progress& now,
                          const progress_display& progress) const {
    report = described(std::move(report), "running");
    exec::RunReport::Live& live = *report.mutable_live();
    progress.describe(now, live);
    live.set_elapsed_seconds(report.wall_seconds());
    return report;
  }

 private:
  const loaded_job& loaded_;
  const std::string cluster_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const int64_t start_us_ = us_since_1970();
};

}  // namespace

void check_cluster_options(const run_arguments& arguments) {
  cluster::place_of(arguments.cluster);
  const auto refuse = [](bool given, const char* option) {
    if (given)
      throw error(error_kind::usage, fmt::format("{} and --cluster exclude each other", option),
                  fmt::format("leave out {}", option));
  };
  refuse(arguments.backend == io::backend_kind::memory, "--backend memory");
}

int run_on_cluster(const loaded_job& loaded, const run_arguments& arguments, run_metrics& measured,
                   report_file& document, terminal& screen) {
  const cluster::place where = cluster::place_of(arguments.cluster);
  const cluster::divided_job job = divided(loaded, where, arguments.tasks);
  check_task_memory(job, {of_task(loaded.machine, where), tasks_at_once(where), arguments.least_divided_bytes});
  const run_description description(loaded, arguments.cluster);
  document.open();
  if (!arguments.metrics_listen.empty()) measured.serve(arguments.metrics_listen);
  // Page and directory go when signals have their usual effect again: browsers are waited for, and to remove thousands
  // of files takes longer than a stop may.
  const std::unique_ptr<page_server> page = open_page(arguments, screen);
  std::unique_ptr<cluster::run_directory> directory;
  const interrupts signals(cluster::seconds_to_stop(where));
  directory = open_directory(loaded, arguments, where, screen);
  const std::vector<std::string> program = {this_program(), "worker"};
  const std::vector<std::string> options = worker_options(of_task(loaded.machine, where), arguments);
  const std::unique_ptr<cluster::scheduler> tasks = cluster::tasks_at(where, program, directory->path(), options);
  const cluster::driver_settings settings{.job = job,
                                          .directory = cluster::shared_directory(directory->path()),
                                          .keeps = arguments.resume,
                                          .operators = known_operators(),
                                          .least_divided_bytes = arguments.least_divided_bytes,
                                          .task_bytes = task_bytes(loaded.machine, where),
                                          .version = std::string(version),
                                          .shown_name = screen.mask().masked(specs::job_name(*loaded.graph->job))};
  progress_display progress(effective_mode(arguments.progress, screen), screen);
  cluster_metrics values(loaded.machine.memory_bytes, screen.mask());
  const metrics::collection::attachment attached =
      measured.values().attach([&values](metrics::sink& into) { values.collect(into); });
  const metrics::collector totals = [&values](metrics::sink& into) { values.collect_totals(into); };
  exec::job_progress last;
  std::string told;
  std::optional<size_t> stage;
  std::function<exec::RunReport()> report_now;
  const auto show_page = [&] {
    page->state().publish(report_document(description.running(report_now(), last, progress), screen), false);
  };
  const auto show = [&](const cluster::driver_progress& now) {
    last = progress_of(now);
    progress.update(last);
    values.note(now, unix_seconds());
    if (page && page->state().wanted()) show_page();
    const std::string line =
        fmt::format("stage {} of {}{}: {} of {} done", now.stage + 1, now.num_stages,
                    now.inside.empty() ? "" : ", " + now.inside, now.num_done, counted(now.num_tasks, "task"));
    if (line == told) return;
    const bool is_new_stage = stage != now.stage;
    stage = now.stage;
    told = line;
    if (is_new_stage && now.num_done > 0) screen.say(fmt::format("flowrun: goes on: {}\n", line));
    screen.detail(line);
  };
  const cluster::driver_listener listener{show, [&screen](const std::string& warning) { screen.warn(warning); },
                                          [&values](const exec::RunReport& so_far) { values.count(so_far); }};
  cluster::driver driver(settings, *tasks, listener, signals.requested());
  report_now = [&driver] { return driver.report(); };
  if (page) show_page();  // an engine takes seconds to start
  try {
    driver.run();
  } catch (const std::exception& problem) {
    const char* const status = signals.signal() != 0 ? "cancelled" : "failed";
    progress.finish(last, status);
    const bool is_of_damage = dynamic_cast<const cluster::damaged_file*>(&problem) != nullptr;
    if (arguments.resume && !is_of_damage) {
      directory->keep();
      screen.say(screen.mask().masked(what_stays(loaded.machine.scratch)));
    }
    exec::RunReport report = description.ended(driver.report(), status);
    report.set_error(problem.what());
    const std::string text = report_document(std::move(report), screen);
    if (page) page->state().publish(text, true);
    try {
      document.write(text);
    } catch (const error& second) {  // what ended the job is told all the same
      screen.show(second);
    }
    measured.end(signals.signal() != 0 ? 128 + signals.signal() : exit_code_of(problem), totals);
    if (signals.signal() == 0) throw;
    screen.show(error(error_kind::cancelled, fmt::format("stopped by {}", signals.name()), "no output was written"));
    return 128 + signals.signal();
  }
  progress.finish(last, "succeeded");
  const exec::RunReport report = description.ended(driver.report(), "succeeded");
  screen.say(exec::report_text(report));
  const std::string text = report_document(report, screen);
  if (page) page->state().publish(text, true);
  document.write_of_success(text);
  measured.end(0, totals);
  return 0;
}

cluster::described_stages describe_stages(const loaded_job& loaded, const std::string& where, size_t tasks) {
  const cluster::place place = cluster::place_of(where);
  const cluster::divided_job job = divided(loaded, place, tasks);
  check_task_memory(job, {of_task(loaded.machine, place), tasks_at_once(place)});
  return cluster::describe(job);
}

}  // namespace flowrun::runner
