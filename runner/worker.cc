// flowrun worker: a task of a job that runs on a cluster. The driver starts it, or an engine for clusters does.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <exception>
#include <thread>

#include "cluster/cluster.pb.h"
#include "cluster/cluster_report.h"
#include "cluster/damaged_file.h"
#include "cluster/exchange_words.h"
#include "cluster/prepared_task.h"
#include "engine/base/machine.h"
#include "engine/base/mutex.h"
#include "engine/exec/job.h"
#include "engine/exec/job_report.h"
#include "runner/commands.h"
#include "runner/exit_codes.h"
#include "runner/interrupts.h"
#include "runner/job_loading.h"
#include "runner/version.h"
#include "runner/words.h"

namespace flowrun::runner {

namespace {

// Whoever started the worker holds the other end of its standard input, and dies with it: the worker then ends, too.
void end_with_parent() {
  std::thread([] {
    char ignored[64];
    for (;;) {
      const ssize_t got = ::read(STDIN_FILENO, ignored, sizeof ignored);
      if (got == 0 || (got < 0 && errno != EINTR)) break;
    }
    ::kill(::getpid(), SIGTERM);
  }).detach();
}

std::shared_ptr<const specs::JobSpec> shared(specs::JobSpec job) {
  return std::make_shared<const specs::JobSpec>(std::move(job));
}

// Faults of the job that only this machine has: a plugin that isn't there.
void refuse(const std::vector<fault>& faults) {
  if (!faults.empty()) throw error(error_kind::bad_spec, render(faults, ""), "");
}

// What a plan is refused for is the memory of a task. The user says another number: with local:N all tasks share it.
void refuse_plan(const std::vector<fault>& faults) {
  if (faults.empty()) return;
  const fault& first = faults.front();
  throw error(error_kind::bad_spec,
              first.expected.empty() ? first.message : fmt::format("{}\n  expected: {}", first.message, first.expected),
              "that is what a task has: with local:N an N-th of -m, else all of it; give more, or fewer tasks at once; "
              "a task that merges the runs of fewer tasks (--tasks) needs less");
}

cluster::Progress progress_of(exec::job& job) {
  const exec::job_progress now = job.progress();
  uint64_t of_exchange = 0;
  for (size_t n = 0; n < job.graph().nodes.size(); ++n)
    if (job.graph().nodes[n].declaration == &cluster::exchange_read().declaration)
      of_exchange += job.counters(n).file_read_bytes;
  cluster::Progress out;
  out.set_rows(now.rows_done);
  out.set_ratio(now.done_ratio);
  out.set_bytes_read(now.bytes_read - std::min(now.bytes_read, of_exchange));
  return out;
}

// For those who watch the job.
exec::RunReport counted_so_far(const exec::job& job) {
  exec::RunReport out = job.report(nullptr);
  out.mutable_live()->set_resident_bytes(resident_bytes());
  return cluster::counts_of(out);
}

// Tells once a second that the process is at work, whatever it does: the job tells nothing while an output of many
// gigabytes is synced, or before it runs. A process that is frozen has no thread that runs.
class signs_of_life {
 public:
  explicit signs_of_life(cluster::prepared_task& task) : task_(task), thread_([this] { tell(); }) {}
  ~signs_of_life() {
    {
      mutex_lock lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  signs_of_life(const signs_of_life&) = delete;
  signs_of_life& operator=(const signs_of_life&) = delete;

  // How far the task is from now on.
  void set(cluster::Progress so_far) {
    mutex_lock lock(mutex_);
    so_far_ = std::move(so_far);
  }

 private:
  void tell() {
    mutex_lock lock(mutex_);
    while (!ends_) {
      const cluster::Progress now = so_far_;
      lock.unlock();
      task_.tell_alive(now);
      lock.lock();
      changed_.wait_until(lock, std::chrono::steady_clock::now() + std::chrono::seconds(1),
                          [&]() FLOWRUN_REQUIRES(mutex_) { return ends_; });
    }
  }

  cluster::prepared_task& task_;
  mutex mutex_;
  condition changed_;
  cluster::Progress so_far_ FLOWRUN_GUARDED_BY(mutex_);
  bool ends_ FLOWRUN_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

void carry_out(cluster::prepared_task& task, const run_arguments& arguments, const std::string& host) {
  signs_of_life life(task);
  planned_job planned = plan_job(shared(task.job()), arguments.resources, {}, false, task.scalars());
  refuse_plan(planned.faults);
  const interrupts signals;
  exec::job_settings settings = settings_of(planned.job, arguments);
  settings.options.hash_outputs = true;
  exec::job job(std::move(settings));
  task.compare_inputs(*planned.job.graph);
  double told = 0;
  const auto start = std::chrono::steady_clock::now();
  job.run(
      [&] {
        const double now = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (told > 0 && now - told < 1) return;
        told = now;
        cluster::Progress so_far = progress_of(job);
        *so_far.mutable_counted() = counted_so_far(job);
        life.set(std::move(so_far));
      },
      signals.requested());
  task.compare_inputs(*planned.job.graph);
  exec::RunReport report = job.report(nullptr);
  report.set_version(std::string(version));
  if (!host.empty()) report.set_host(host);
  task.finish(report, job.warnings(), progress_of(job));
}

}  // namespace

int work(const worker_arguments& arguments, terminal& screen) {
  use_exchange_words();
  const cluster::shared_directory directory(arguments.directory);
  cluster::Failure failure;
  failure.set_host(arguments.host);
  // What no other attempt would mend, unless it was on another machine.
  bool is_unfit = false;
  try {
    std::vector<std::string> missing;
    specs::JobSpec planned = cluster::prepared_task::planned_job(directory, std::string(version));
    end_with_parent();
    plan::check_result checked = check_job(shared(std::move(planned)), missing);
    refuse(checked.faults);
    cluster::prepared_task task(directory, std::make_shared<const plan::graph>(std::move(checked.checked)),
                                arguments.stage, arguments.task);
    try {
      carry_out(task, arguments.run, arguments.host);
    } catch (...) {
      task.remove();
      throw;
    }
    return 0;
  } catch (const cluster::unfit_machine& problem) {
    is_unfit = true;
    failure.set_message(problem.what());
    failure.set_hint(problem.hint());
    failure.set_code(problem.exit_code());
  } catch (const error& problem) {
    failure.set_is_of_damage(dynamic_cast<const cluster::damaged_file*>(&problem) != nullptr);
    failure.set_message(problem.what());
    failure.set_hint(problem.hint());
    failure.set_code(problem.exit_code());
  } catch (const std::exception& problem) {
    failure.set_message(problem.what());
    failure.set_code(exit_code_of(problem));
  }
  if (failure.code() == 0) failure.set_code(static_cast<int>(error_kind::internal));
  screen.show(error(static_cast<error_kind>(failure.code()), failure.message(), failure.hint()));
  try {
    cluster::write_message(directory.failed(arguments.stage, arguments.task), failure);
  } catch (const error&) {
    // Standard error has it.
  }
  return is_unfit ? static_cast<int>(error_kind::resources) : failure.code();
}

}  // namespace flowrun::runner
