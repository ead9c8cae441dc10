#include "cluster/cluster_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/counted.h"
#include "engine/exec/job_report.h"
#include "engine/plan/body_ports.h"
#include "specs/job_name.h"

namespace flowrun::cluster {

namespace {

template <class Value>
Value median_of(const std::vector<finished_task>& tasks, Value finished_task::*what) {
  std::vector<Value> values;
  for (const finished_task& t : tasks) values.push_back(t.*what);
  // The lower one of two in the middle: of two tasks, one that is slow is slower than it.
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

size_t slowest_of(const std::vector<finished_task>& tasks) {
  return static_cast<size_t>(
      std::max_element(tasks.begin(), tasks.end(),
                       [](const finished_task& a, const finished_task& b) { return a.seconds < b.seconds; }) -
      tasks.begin());
}

// Of differences that are smaller nobody asks why.
constexpr double least_ratio = 1.5;

std::string cause_of(const std::vector<finished_task>& tasks, size_t slowest) {
  const finished_task& t = tasks[slowest];
  if (t.seconds < least_ratio * median_of(tasks, &finished_task::seconds)) return {};
  const uint64_t rows = median_of(tasks, &finished_task::rows);
  if (t.rows > 0 && static_cast<double>(t.rows) >= least_ratio * static_cast<double>(rows))
    return fmt::format("it had {}, and half of the tasks {} or fewer", counted(t.rows, "row"), format_count(rows));
  if (t.attempts > 1) return fmt::format("it was begun {} times", t.attempts);
  const bool has_others =
      std::any_of(tasks.begin(), tasks.end(), [&](const auto& other) { return other.host != t.host; });
  return has_others ? "it ran on " + t.host : std::string();
}

void add_nodes(exec::RunReport& out, const plan::graph& g, std::set<const plan::graph*>& seen) {
  if (!seen.insert(&g).second) return;
  for (const plan::node& n : g.nodes) {
    if (plan::is_internal(n)) continue;
    exec::RunReport::Node& node = *out.add_nodes();
    node.set_id(plan::full_name(g, n));
    node.set_op(n.declaration->name);
    node.set_inside(g.path);
    node.set_role(plan::to_string(n.role()));
    for (const auto& body : n.bodies) add_nodes(out, *body, seen);
  }
}

}  // namespace

exec::RunReport::Stage stage_report(const std::vector<std::string>& nodes, double seconds,
                                    const std::vector<finished_task>& tasks) {
  exec::RunReport::Stage out;
  *out.mutable_nodes() = {nodes.begin(), nodes.end()};
  out.set_tasks(static_cast<uint32_t>(tasks.size()));
  out.set_seconds(seconds);
  size_t attempts = 0;
  for (const finished_task& t : tasks) attempts += std::max<size_t>(t.attempts, 1);
  out.set_attempts(static_cast<uint32_t>(attempts));
  const size_t slowest = slowest_of(tasks);
  out.set_median_seconds(median_of(tasks, &finished_task::seconds));
  out.set_slowest_seconds(tasks[slowest].seconds);
  out.set_slowest_task(static_cast<uint32_t>(slowest + 1));
  out.set_slowest_because(cause_of(tasks, slowest));
  return out;
}

exec::RunReport::Stage running_stage(const std::vector<std::string>& nodes, double seconds,
                                     const std::vector<finished_task>& before, const stage_progress& now) {
  std::vector<finished_task> done = before;
  std::optional<size_t> longest;
  size_t attempts = 0;
  for (size_t t = 0; t < now.num_tasks(); ++t) {
    const stage_progress::task_progress& task = now.tasks()[t];
    attempts += task.attempts;
    if (task.is_done) done.push_back({task.counted.wall_seconds(), task.rows, 0, task.host});
    if (!longest || task.counted.wall_seconds() > now.tasks()[*longest].counted.wall_seconds()) longest = t;
  }
  for (const finished_task& task : before) attempts += std::max<size_t>(task.attempts, 1);
  exec::RunReport::Stage out;
  if (!done.empty()) out = stage_report(nodes, seconds, done);
  out.clear_slowest_because();
  out.clear_slowest_task();
  *out.mutable_nodes() = {nodes.begin(), nodes.end()};
  out.set_seconds(seconds);
  out.set_tasks(static_cast<uint32_t>(before.size() + now.num_tasks()));
  out.set_attempts(static_cast<uint32_t>(attempts));
  out.set_tasks_done(static_cast<uint32_t>(done.size()));
  out.set_tasks_at_work(static_cast<uint32_t>(now.num_at_work()));
  if (!longest) return out;
  const double most = now.tasks()[*longest].counted.wall_seconds();
  if (most > 0 && most >= out.slowest_seconds() && before.empty())
    out.set_slowest_task(static_cast<uint32_t>(*longest + 1));
  out.set_slowest_seconds(std::max(out.slowest_seconds(), most));
  return out;
}

std::optional<task_skew> skew_of(const std::vector<finished_task>& tasks) {
  constexpr double least_skew = 2, least_seconds = 1;
  const size_t slowest = slowest_of(tasks);
  const task_skew out{slowest, tasks[slowest].rows, median_of(tasks, &finished_task::rows), tasks[slowest].seconds,
                      median_of(tasks, &finished_task::seconds)};
  if (out.seconds < least_seconds || out.seconds < least_skew * out.median_seconds ||
      static_cast<double>(out.rows) < least_skew * static_cast<double>(out.median_rows))
    return std::nullopt;
  return out;
}

exec::RunReport begin_report(const plan::graph& g) {
  exec::RunReport out;
  out.set_format(exec::report_format);
  out.set_job(specs::job_name(*g.job));
  std::set<const plan::graph*> seen;
  add_nodes(out, g, seen);
  return out;
}

exec::RunReport::Node* node_of(exec::RunReport& report, const std::string& full_name) {
  for (exec::RunReport::Node& n : *report.mutable_nodes())
    if (n.id() == full_name) return &n;
  return nullptr;
}

void set_result(exec::RunReport& report, const std::string& node, const std::string& name, const std::string& value) {
  const auto found =
      std::find_if(report.mutable_results()->begin(), report.mutable_results()->end(),
                   [&](const exec::RunReport::Result& r) { return r.node() == node && r.name() == name; });
  exec::RunReport::Result& to = found != report.mutable_results()->end() ? *found : *report.add_results();
  to.set_node(node);
  to.set_name(name);
  to.set_value(value);
}

exec::RunReport counts_of(const exec::RunReport& of_task) {
  exec::RunReport out;
  *out.mutable_nodes() = of_task.nodes();
  *out.mutable_actual() = of_task.actual();
  out.set_cpu_seconds(of_task.cpu_seconds());
  out.set_peak_memory_bytes(of_task.peak_memory_bytes());
  out.set_wall_seconds(of_task.wall_seconds());
  if (of_task.has_live()) out.mutable_live()->set_resident_bytes(of_task.live().resident_bytes());
  return out;
}

void add_task(exec::RunReport& whole, const plan::graph& g, const stage& of, const exec::RunReport& of_task) {
  std::map<std::string, exec::RunReport::Node*> by_id;
  for (exec::RunReport::Node& n : *whole.mutable_nodes()) by_id[n.id()] = &n;
  std::set<std::string> own, first_steps, second_steps;
  for (const int n : of.nodes) own.insert(g.nodes[static_cast<size_t>(n)].id);
  for (const int n : of.runs) first_steps.insert(g.nodes[static_cast<size_t>(n)].id);
  for (const stage_input& in : of.inputs)
    if (in.runs) second_steps.insert(g.nodes[static_cast<size_t>(in.node)].id);
  for (const exec::RunReport::Node& n : of_task.nodes()) {
    const auto found = by_id.find(g.path.empty() ? n.id() : g.path + "." + n.id());
    if (found == by_id.end()) continue;
    exec::RunReport::Node& to = *found->second;
    to.set_busy_seconds(to.busy_seconds() + n.busy_seconds());
    exec::RunReport::Node::Blocked& blocked = *to.mutable_blocked_seconds();
    blocked.set_io(blocked.io() + n.blocked_seconds().io());
    blocked.set_memory(blocked.memory() + n.blocked_seconds().memory());
    blocked.set_input(blocked.input() + n.blocked_seconds().input());
    blocked.set_output(blocked.output() + n.blocked_seconds().output());
    for (const auto& [name, count] : n.counts()) (*to.mutable_counts())[name] += count;
    // What came to the node came to its first step.
    if (first_steps.contains(n.id())) to.set_rows_in(to.rows_in() + n.rows_in());
    // What is inside of a node of the stage is the stage's, too.
    if (!own.contains(n.id().substr(0, n.id().find('.')))) continue;
    if (!n.fused_with().empty()) to.set_fused_with(g.path.empty() ? n.fused_with() : g.path + "." + n.fused_with());
    to.set_rows(to.rows() + n.rows());
    to.set_bytes(to.bytes() + n.bytes());
    if (!second_steps.contains(n.id())) to.set_rows_in(to.rows_in() + n.rows_in());
    to.set_rejected_rows(to.rejected_rows() + n.rejected_rows());
    to.set_iterations(to.iterations() + n.iterations());
    if (n.op() == "exchange.read") continue;
    to.set_file_read_bytes(to.file_read_bytes() + n.file_read_bytes());
    to.set_file_written_bytes(to.file_written_bytes() + n.file_written_bytes());
    whole.mutable_actual()->set_input_bytes(whole.actual().input_bytes() + n.file_read_bytes());
    whole.mutable_actual()->set_output_bytes(whole.actual().output_bytes() + n.file_written_bytes());
  }
  whole.set_cpu_seconds(whole.cpu_seconds() + of_task.cpu_seconds());
  whole.set_peak_memory_bytes(std::max(whole.peak_memory_bytes(), of_task.peak_memory_bytes()));
  exec::RunReport::Totals& total = *whole.mutable_actual();
  const exec::RunReport::Totals& added = of_task.actual();
  total.set_scratch_written_bytes(total.scratch_written_bytes() + added.scratch_written_bytes());
  total.set_scratch_read_bytes(total.scratch_read_bytes() + added.scratch_read_bytes());
  total.set_peak_scratch_bytes(std::max(total.peak_scratch_bytes(), added.peak_scratch_bytes()));
  total.set_peak_memory_bytes(std::max(total.peak_memory_bytes(), added.peak_memory_bytes()));
}

}  // namespace flowrun::cluster
