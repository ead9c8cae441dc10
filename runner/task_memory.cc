#include "runner/task_memory.h"

#include <fmt/format.h>

#include "cluster/expected_task.h"
#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/plan/physical_plan.h"
#include "runner/job_loading.h"
#include "runner/words.h"

namespace flowrun::runner {

namespace {

std::string merged_files(const cluster::divided_job& job, const cluster::stage& st) {
  size_t count = 0;
  for (const cluster::stage_input& in : st.inputs)
    if (in.how == cluster::reading::merged) count += cluster::num_files(job, in);
  return count > 1 ? fmt::format(", which merges {},", counted(count, "file")) : "";
}

}  // namespace

void check_task_memory(const cluster::divided_job& job, const resources& of_task, size_t at_once) {
  use_exchange_words();
  // Without the memory of regular expressions: this process has those of the whole job, too, and would count them.
  const plan::machine machine = machine_of(of_task);
  for (size_t s = 0; s < job.cut.all.size(); ++s) {
    std::optional<specs::JobSpec> spec = cluster::expected_task(job, s);
    if (!spec) continue;
    std::vector<std::string> missing;
    const plan::check_result checked =
        check_job(std::make_shared<const specs::JobSpec>(*std::move(spec)), missing, {}, false, {}, job.graph->scalars);
    if (!checked.faults.empty()) continue;  // told by the task, which sees its files
    const plan::plan_result planned = plan::make_plan(checked.checked, machine);
    if (planned.faults.empty()) continue;
    const uint64_t needed = (plan::least_memory(checked.checked, machine) + MiB - 1) / MiB;
    throw error(error_kind::bad_spec,
                fmt::format("a task of stage {}{} needs {} MiB of memory, and has {}\n  expected: {}", s + 1,
                            merged_files(job, job.cut.all[s]), needed, format_bytes(of_task.memory_bytes),
                            planned.faults.front().expected),
                fmt::format("run with -m {}MiB, or divide the stages into fewer tasks (--tasks)", needed * at_once));
  }
}

}  // namespace flowrun::runner
