#include "cluster/cluster_report.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/exec/job_report.h"
#include "engine/plan/body_ports.h"
#include "specs/job_name.h"

namespace flowrun::cluster {

exec::RunReport begin_report(const plan::graph& g) {
  exec::RunReport out;
  out.set_format(exec::report_format);
  out.set_job(specs::job_name(*g.job));
  for (const plan::node& n : g.nodes) {
    if (plan::is_internal(n)) continue;
    exec::RunReport::Node& node = *out.add_nodes();
    node.set_id(n.id);
    node.set_op(n.declaration->name);
    node.set_role(plan::to_string(n.role()));
  }
  return out;
}

void add_task(exec::RunReport& whole, const plan::graph& g, const stage& of, const exec::RunReport& of_task) {
  std::map<std::string, exec::RunReport::Node*> by_id;
  for (exec::RunReport::Node& n : *whole.mutable_nodes()) by_id[n.id()] = &n;
  std::set<std::string> own;
  for (const int n : of.nodes) own.insert(g.nodes[static_cast<size_t>(n)].id);
  for (const exec::RunReport::Node& n : of_task.nodes()) {
    const auto found = by_id.find(n.id());
    if (found == by_id.end()) continue;
    exec::RunReport::Node& to = *found->second;
    to.set_busy_seconds(to.busy_seconds() + n.busy_seconds());
    exec::RunReport::Node::Blocked& blocked = *to.mutable_blocked_seconds();
    blocked.set_io(blocked.io() + n.blocked_seconds().io());
    blocked.set_memory(blocked.memory() + n.blocked_seconds().memory());
    blocked.set_input(blocked.input() + n.blocked_seconds().input());
    blocked.set_output(blocked.output() + n.blocked_seconds().output());
    for (const auto& [name, count] : n.counts()) (*to.mutable_counts())[name] += count;
    if (n.op() == "exchange.reduce") to.set_rows_in(to.rows_in() + n.rows_in());
    if (!own.contains(n.id())) continue;
    to.set_rows(to.rows() + n.rows());
    to.set_bytes(to.bytes() + n.bytes());
    if (n.op() != "exchange.total") to.set_rows_in(to.rows_in() + n.rows_in());
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
