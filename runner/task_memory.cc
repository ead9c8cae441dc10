#include "runner/task_memory.h"

#include <fmt/format.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cluster/expected_task.h"
#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/plan/body_ports.h"
#include "engine/plan/physical_plan.h"
#include "runner/job_loading.h"
#include "runner/words.h"

namespace flowrun::runner {

namespace {

// By a task of a stage.
struct merged_files {
  size_t count = 0;
  bool of_several_tasks = false;  // some of them are of one stream
};

merged_files merged_by_task(const cluster::divided_job& job, const cluster::stage& st) {
  merged_files out;
  for (const cluster::stage_input& in : st.inputs) {
    if (in.how != cluster::reading::merged) continue;
    const size_t count = cluster::num_files(job, in);
    out.count += count;
    out.of_several_tasks = out.of_several_tasks || count > 1;
  }
  return out;
}

class task_memory_check {
 public:
  explicit task_memory_check(const task_share& share)
      // Without the memory of regular expressions: this process has those of the whole job, too, and would count them.
      : share_(share), machine_(machine_of(share.of_task)) {}

  void look_at(const cluster::divided_job& job) {
    if (!seen_.insert(job.graph.get()).second) return;
    for (size_t s = 0; s < job.cut.all.size(); ++s) {
      const std::optional<bool> has_stages = cluster::runs_as_stages(job, s, share_.least_divided_bytes);
      if (!has_stages) continue;
      if (!*has_stages) {
        look_at_task(job, s);
        continue;
      }
      const plan::node& control = job.graph->nodes[static_cast<size_t>(job.cut.all[s].control)];
      if (control.facts.bodies_run) look_at_bodies(job, control);
    }
  }

  void refuse_too_little() const {
    if (needed_mib_ == 0) return;
    throw error(error_kind::bad_spec, what_,
                fmt::format("run with -m {}MiB{}", needed_mib_ * share_.at_once,
                            fewer_tasks_help_ ? ", or divide the stages into fewer tasks (--tasks)" : ""));
  }

 private:
  void look_at_bodies(const cluster::divided_job& job, const plan::node& control) {
    for (size_t i = 0; i == 0 || i < control.bodies.size(); ++i)
      if (const std::shared_ptr<const plan::graph> body = plan::body_of(control, i))
        look_at(cluster::divide(body, job.most_tasks, job.file_bytes));
  }

  void look_at_task(const cluster::divided_job& job, size_t stage) {
    std::vector<std::string> missing;
    const plan::check_result checked =
        check_job(std::make_shared<const specs::JobSpec>(cluster::expected_task(job, stage)), missing, {}, false, {},
                  job.graph->scalars);
    if (!checked.faults.empty()) return;  // told by the task, which sees its files
    const plan::plan_result planned = plan::make_plan(checked.checked, machine_);
    if (planned.faults.empty()) return;
    const uint64_t needed_mib = (plan::least_memory(checked.checked, machine_) + MiB - 1) / MiB;
    if (needed_mib <= needed_mib_) return;
    needed_mib_ = needed_mib;
    const merged_files files = merged_by_task(job, job.cut.all[stage]);
    fewer_tasks_help_ = files.of_several_tasks;
    // "memory: 3MiB or more; phase 1 wants at least …", where the number is not that of -m.
    const std::string& wanted = planned.faults.front().expected;
    const size_t semicolon = wanted.find("; ");
    what_ = fmt::format("{}a task of stage {}{} needs {} MiB of memory, and has {}\n  expected: {}",
                        job.graph->path.empty() ? "" : fmt::format("{}: ", job.graph->path), stage + 1,
                        files.count > 1 ? fmt::format(", which merges {},", counted(files.count, "file")) : "",
                        needed_mib, format_bytes(share_.of_task.memory_bytes),
                        semicolon == wanted.npos ? wanted : wanted.substr(semicolon + 2));
  }

  const task_share& share_;
  const plan::machine machine_;
  std::set<const plan::graph*> seen_;
  uint64_t needed_mib_ = 0;  // of the stage that needs most; 0: all have enough
  bool fewer_tasks_help_ = false;
  std::string what_;
};

}  // namespace

void check_task_memory(const cluster::divided_job& job, const task_share& share) {
  use_exchange_words();
  task_memory_check check(share);
  check.look_at(job);
  check.refuse_too_little();
}

}  // namespace flowrun::runner
