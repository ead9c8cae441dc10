// flowrun run: a job from its file to its report.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "engine/base/counted.h"
#include "engine/base/machine.h"
#include "engine/base/units.h"
#include "engine/exec/job.h"
#include "engine/exec/job_report.h"
#include "runner/cluster_run.h"
#include "runner/commands.h"
#include "runner/disk_room.h"
#include "runner/document.h"
#include "runner/exit_codes.h"
#include "runner/interrupts.h"
#include "runner/job_loading.h"
#include "runner/job_metrics.h"
#include "runner/job_page.h"
#include "runner/progress_display.h"
#include "runner/resuming.h"
#include "runner/run.h"
#include "specs/job_name.h"
#include "specs/resource_reader.h"

namespace flowrun::runner {

namespace {

// Scratch in RAM takes the memory that spilling is to save.
void warn_of_ram_disks(const loaded_job& job, terminal& screen) {
  if (!may_use_scratch(job)) return;
  for (const block::disk_config& disk : job.machine.scratch) {
    std::filesystem::path there = disk.path;
    std::error_code ignored;
    while (!there.empty() && !std::filesystem::exists(there, ignored) && there != there.parent_path())
      there = there.parent_path();
    if (there.empty()) there = ".";
    if (on_ram_disk(there.string()))
      screen.warn("the scratch directory " + disk.path +
                  " lies on a RAM disk: what is spilled there takes memory; -T DIR names another");
  }
}

// `backend`: the one that was taken.
void tell_resources(const resources& r, const run_arguments& arguments, std::string_view backend, terminal& screen) {
  if (!screen.verbose()) return;
  std::string why = "command line";
  if (arguments.backend == io::backend_kind::automatic) {
    const std::string refusal = io::io_uring_refusal();
    why = refusal.empty() ? "it works here" : "io_uring can't be used here: " + refusal;
  }
  screen.detail(fmt::format("I/O backend {} ({})", backend, why));
  screen.detail(fmt::format("memory {} ({}), {} ({})", format_bytes(r.memory_bytes), r.memory_from,
                            counted(r.threads, "thread"), r.threads_from));
  for (const block::disk_config& disk : r.scratch)
    screen.detail(fmt::format("scratch {}{}{} ({})", disk.path,
                              disk.limit > 0 ? ", at most " + format_bytes(disk.limit) : "",
                              disk.weight > 0 ? fmt::format(", weight {:g}", disk.weight) : "", r.scratch_from));
  const std::string limit = r.scratch_limit > 0 ? "at most " + format_bytes(r.scratch_limit) + " in all, " : "";
  const std::string depth = r.disk_depth > 0 ? fmt::format("depth {}, ", r.disk_depth) : "";
  screen.detail(fmt::format("disks: {}{}{}, {}", limit, depth,
                            specs::allocation_names()[static_cast<size_t>(r.allocation)],
                            specs::io_order_names()[static_cast<size_t>(r.io_order)]));
}

// Scratch that will be used, or that the user named, has to be usable before the work begins. Only the default
// directory may be unusable, where the size of the job is not known: small data never needs it.
void open_scratch(exec::job& job, const loaded_job& loaded, bool forced, terminal& screen) {
  if (!forced && !may_use_scratch(loaded)) return;
  try {
    job.open_scratch();
  } catch (const error& problem) {
    const bool needed = forced || std::any_of(loaded.plan.sorts.begin(), loaded.plan.sorts.end(),
                                              [](const auto& sort) { return sort.known && sort.written_bytes > 0; });
    if (needed || loaded.machine.scratch_from != "default") throw;
    screen.warn(fmt::format("{}: the job ends when its data doesn't fit in memory; -T DIR names another directory",
                            problem.what()));
  }
}

std::string state_document(const exec::job& job, const exec::job_progress& now, const progress_display& progress,
                           const terminal& screen) {
  exec::RunReport state = job.report(nullptr);
  exec::RunReport::Live& live = *state.mutable_live();
  progress.describe(now, live);
  live.set_elapsed_seconds(state.wall_seconds());
  live.set_resident_bytes(resident_bytes());
  return report_document(std::move(state), screen);
}

// Warnings of the job, each once, as soon as they come.
class warning_reader {
 public:
  void read(const exec::job& job, terminal& screen) {
    const std::vector<std::string> all = job.warnings();
    for (; shown_ < all.size(); ++shown_) screen.warn(all[shown_]);
  }

 private:
  size_t shown_ = 0;
};

}  // namespace

int run(const run_arguments& arguments, terminal& screen) {
  if (!arguments.cluster.empty()) check_cluster_options(arguments);
  report_file report(arguments.report);
  specs::read_result read;
  try {
    read = read_job(arguments.job, screen);
  } catch (const error& problem) {
    report.write_unbegun(specs::job_name(arguments.job.file), problem, screen);
    if (!arguments.metrics_file.empty()) {
      run_metrics nothing(specs::job_name(arguments.job.file), screen);
      nothing.write_at_end(arguments.metrics_file, false);
      nothing.end(exit_code_of(problem));
    }
    throw;
  }
  const std::string name = specs::job_name(read.job);
  run_metrics measured(screen.mask().masked(name), screen);
  if (!arguments.metrics_file.empty())
    measured.write_at_end(arguments.metrics_file, read.faults.empty() || !read.job.name().empty());
  try {
    const loaded_job loaded = load(std::move(read), arguments.job, arguments.resources, screen,
                                   {{"--report", arguments.report}, {"--metrics-file", arguments.metrics_file}});
    if (!arguments.cluster.empty()) return run_on_cluster(loaded, arguments, measured, report, screen);
    if (arguments.backend != io::backend_kind::memory)
      try_scratch(loaded.machine, arguments.engine.force_spill || may_use_scratch(loaded));
    return run_loaded(loaded, arguments, measured, report, screen);
  } catch (const faults_shown& problem) {
    // A file that is also the job's own is left as it is.
    if (!problem.are_about("--report")) report.write_unbegun(name, problem, screen);
    if (!problem.are_about("--metrics-file")) measured.end(problem.exit_code());
    throw;
  } catch (const std::exception& problem) {
    report.write_unbegun(name, problem, screen);
    measured.end(exit_code_of(problem));
    throw;
  }
}

namespace {

// 0, or 128 and the number of the signal that stopped the job. Throws what the job throws. `report` and `page` are
// nullptr where they were not asked for.
int run_watched(const loaded_job& loaded, const run_arguments& arguments, const interrupts& signals,
                report_file& report, page_server* page, run_metrics& measured, terminal& screen) {
  exec::job_settings settings = settings_of(loaded, arguments);
  bool goes_on = false;
  if (arguments.resume) {
    settings.manifest = open_manifest(loaded, arguments, screen);
    for (size_t i = 0; i < settings.scratch.size(); ++i)
      settings.scratch[i].kept_file = settings.manifest->kept_file(i);
    goes_on = settings.manifest->found().has_progress();
  }
  // What an earlier run has left takes a part of the room that was predicted.
  if (!goes_on) {
    try {
      if (arguments.backend != io::backend_kind::memory) check_scratch_room(loaded.plan, loaded.machine, false, screen);
      check_output_room(*loaded.graph, false, screen);
    } catch (...) {
      if (settings.manifest) settings.manifest->remove();  // nothing was begun
      throw;
    }
  }
  exec::job job(std::move(settings));
  tell_resources(loaded.machine, arguments, job.backend_name(), screen);
  job_metrics values(job, loaded.machine.scratch_limit, screen.mask());
  const metrics::collection::attachment attached =
      measured.values().attach([&values](metrics::sink& into) { values.collect(into); });
  const metrics::collector totals = [&values](metrics::sink& into) { values.collect_totals(into); };
  progress_display progress(effective_mode(arguments.progress, screen), screen);
  warning_reader warnings;
  const auto tick = [&] {
    const exec::job_progress now = job.progress();
    values.note(now, unix_seconds());
    progress.update(now);
    warnings.read(job, screen);
    if (page && page->state().wanted()) page->state().publish(state_document(job, now, progress, screen), false);
  };
  if (page) page->serve_rows(job.taps());  // who has read the names of the nodes may ask for their rows
  if (page) page->state().publish(state_document(job, job.progress(), progress, screen), false);
  try {
    open_scratch(job, loaded, arguments.engine.force_spill, screen);
    job.run(tick, signals.requested());
  } catch (const std::exception& problem) {
    const auto* known = dynamic_cast<const error*>(&problem);
    const bool stopped = known != nullptr && known->kind() == error_kind::cancelled;
    progress.finish(job.progress(), stopped ? "cancelled" : "failed");
    warnings.read(job, screen);
    if (page) page->state().publish(report_document(job.report(&problem), screen), true);
    if (page) page->end_rows();
    try {
      report.write(report_document(job.report(&problem), screen));
    } catch (const error& second) {  // what ended the job is told all the same
      screen.show(second);
    }
    const bool starts_over =
        known != nullptr && (known->kind() == error_kind::io || known->kind() == error_kind::internal);
    if (arguments.resume && !starts_over) screen.say(screen.mask().masked(what_stays(loaded.machine.scratch)));
    const bool by_signal = stopped && signals.signal() != 0;
    measured.end(by_signal ? 128 + signals.signal() : exit_code_of(problem), totals);
    if (by_signal) return 128 + signals.signal();
    throw;
  }
  progress.finish(job.progress(), "succeeded");
  warnings.read(job, screen);
  const exec::RunReport result = job.report(nullptr);
  screen.say(exec::report_text(result));
  if (page) page->state().publish(report_document(result, screen), true);
  if (page) page->end_rows();
  report.write_of_success(report_document(result, screen));
  measured.end(0, totals);
  return 0;
}

}  // namespace

int run_loaded(const loaded_job& loaded, const run_arguments& arguments, run_metrics& measured, report_file& report,
               terminal& screen) {
  warn_of_ram_disks(loaded, screen);
  report.open();
  if (!arguments.metrics_listen.empty()) measured.serve(arguments.metrics_listen);
  // It is taken down after the job, when signals have their usual effect again.
  const std::unique_ptr<page_server> page = open_page(arguments, screen);

  const interrupts signals;
  const int code = run_watched(loaded, arguments, signals, report, page.get(), measured, screen);
  // Told when the job is gone: to give gigabytes back takes time, and where it takes too much, the signals tell.
  if (code != 0)
    screen.show(error(error_kind::cancelled, fmt::format("stopped by {}", signals.name()), "no output was written"));
  return code;
}

}  // namespace flowrun::runner
