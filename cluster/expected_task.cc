#include "cluster/expected_task.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/control_run.h"
#include "cluster/stage_job.h"
#include "engine/plan/file_rules.h"

namespace flowrun::cluster {

namespace {

std::string path_as_it_is(const plan::node& sink) {
  const plan::file_use use = plan::files_of(sink).front();
  return use.partitioned ? use.partitioned->text_in(use.partitioned->directory())
                         : plan::path_template::escaped(use.path);
}

}  // namespace

std::vector<task_count> task_counts(const divided_job& job) {
  std::vector<task_count> out;
  const bool is_body = !job.graph->path.empty();
  for (const stage& st : job.cut.all) {
    task_count count{1, false};
    if (st.divided && st.merges()) count = {job.most_tasks, is_body};
    if (st.source >= 0) count.num_tasks = job.pieces[static_cast<size_t>(st.source)].size();
    for (const stage_input& in : st.inputs) {
      if (in.how != reading::piece) continue;
      const int from = job.cut.of_node[static_cast<size_t>(in.node)];
      const bool is_known = from >= 0 && job.cut.all[static_cast<size_t>(from)].control < 0;
      count = is_known ? out[static_cast<size_t>(from)] : task_count{job.most_tasks, true};
      count.num_tasks = std::min(count.num_tasks, job.most_tasks);
    }
    out.push_back(count);
  }
  return out;
}

size_t num_files(const divided_job& job, const stage_input& in) {
  const auto node = static_cast<size_t>(in.node);
  const int from = in.runs ? job.cut.of_runs[node] : job.cut.of_node[node];
  if (from < 0 || job.cut.all[static_cast<size_t>(from)].control >= 0) return 1;
  const task_count count = task_counts(job)[static_cast<size_t>(from)];
  return count.at_most ? 1 : std::max<size_t>(count.num_tasks, 1);
}

specs::JobSpec expected_task(const divided_job& job, size_t stage) {
  const struct stage& st = job.cut.all[stage];
  task t;
  for (const stage_input& in : st.inputs) {
    task_input files;
    const size_t count = in.how == reading::piece ? 1 : num_files(job, in);
    for (size_t i = 0; i < count; ++i) files.paths.push_back(fmt::format("/nonexistent/rows-{}-{}", in.node, i));
    if (in.how == reading::merged) files.ranges.assign(count, {0, 1});
    t.inputs.push_back(std::move(files));
  }
  if (st.source >= 0) t.piece = &job.pieces[static_cast<size_t>(st.source)].front();
  for (size_t i = 0; i < streams_written(job.cut, stage).size(); ++i)
    t.written.push_back(fmt::format("/nonexistent/written-{}", i));
  t.output_path = path_as_it_is;
  return job_of_task(*job.graph, job.cut, stage, t);
}

std::optional<bool> runs_as_stages(const divided_job& job, size_t stage, uint64_t least_divided_bytes) {
  const struct stage& st = job.cut.all[stage];
  if (st.control < 0 || job.most_tasks < 2) return false;
  if (least_divided_bytes <= 1 || counts_calls(*job.graph, job.graph->nodes[static_cast<size_t>(st.control)]))
    return true;
  uint64_t num_bytes = 0;
  bool exact = true, bounded = true;
  for (const stage_input& in : st.inputs) {
    const plan::node& n = job.graph->nodes[static_cast<size_t>(in.node)];
    const plan::row_estimate& rows = n.outputs[static_cast<size_t>(in.port)].estimate;
    num_bytes = plan::bound_plus(num_bytes, rows.num_bytes);
    exact = exact && rows.known && rows.exact;
    bounded = bounded && rows.bounds_bytes();
  }
  if (bounded && num_bytes < least_divided_bytes) return false;
  if (exact && num_bytes >= least_divided_bytes) return true;
  return std::nullopt;
}

}  // namespace flowrun::cluster
