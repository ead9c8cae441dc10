// The report of a job on a cluster: those of its tasks as one. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/stage_progress.h"
#include "cluster/stages.h"
#include "engine/exec/report.pb.h"
#include "engine/plan/graph.h"

namespace flowrun::cluster {

// What add_task() takes of a task's report, and how long the task has run: small enough to be told each second.
exec::RunReport counts_of(const exec::RunReport& of_task);

// Adds what a task has counted to the nodes of the job that have these names, with that of a body in front. Rows are
// those of the nodes of its stage: what reads another stage's rows has the name of the node that made them.
void add_task(exec::RunReport& whole, const plan::graph& g, const stage& of, const exec::RunReport& of_task);

// A task that is done.
struct finished_task {
  double seconds = 0;   // of the attempt that was first
  uint64_t rows = 0;    // given on by its sources and merges
  size_t attempts = 1;  // that have begun, as far as is known
  std::string host;
};

// `seconds`: from its start to its end. There is a task at least.
exec::RunReport::Stage stage_report(const std::vector<std::string>& nodes, double seconds,
                                    const std::vector<finished_task>& tasks);
// Of one that has not ended: the median is that of tasks that are done, and the slowest may still be at work. `before`:
// of earlier iterations, for the stage of a body.
exec::RunReport::Stage running_stage(const std::vector<std::string>& nodes, double seconds,
                                     const std::vector<finished_task>& before, const stage_progress& now);

// Whether a task has taken so much longer than others, for its rows, that whoever wrote the job should know.
struct task_skew {
  size_t task = 0;  // from 0
  uint64_t rows = 0, median_rows = 0;
  double seconds = 0, median_seconds = 0;
};
std::optional<task_skew> skew_of(const std::vector<finished_task>& tasks);

// A report without counts, with the job's nodes, and behind each those that are inside of it: "levels.reached".
exec::RunReport begin_report(const plan::graph& g);
// In place of what the node has reported before, in an earlier iteration.
void set_result(exec::RunReport& report, const std::string& node, const std::string& name, const std::string& value);
// Null: there is no such node.
exec::RunReport::Node* node_of(exec::RunReport& report, const std::string& full_name);

}  // namespace flowrun::cluster
