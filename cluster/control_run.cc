#include "cluster/control_run.h"

#include <fmt/format.h>

#include <utility>

#include "cluster/graph_run.h"
#include "engine/base/error.h"
#include "engine/exec/row_values.h"
#include "engine/plan/body_ports.h"
#include "engine/plan/scalar_names.h"
#include "operators/parts/control/control_values.h"
#include "specs/value.h"

namespace flowrun::cluster {

namespace {

const exchange_rows& files_of(const exec::held_rows& rows) { return dynamic_cast<const exchange_rows&>(rows); }

}  // namespace

bool counts_calls(const plan::graph& g, const plan::node& n) {
  const specs::Value* const name = specs::find(n.spec->with(), "graph");
  if (n.recursion.expired() || name == nullptr) return false;
  for (const specs::Graph& called : g.job->graphs())
    if (called.name() == specs::text(*name)) return operators::may_name_call_depth(called);
  return false;
}

control_run::control_run(graph_run& around, const plan::node& n)
    : control_context(around.graph_, n), around_(around), job_(around.job_), level_(job_.activities.size()) {
  for (size_t i = 0; i < n.inputs.size(); ++i) inputs.push_back(around_.rows_of_input(n, i));
  outputs.resize(n.outputs.size());
  for (const plan::scalar_row& row : n.scalars) {
    const plan::node& taken_by = graph.nodes[static_cast<size_t>(row.taken_by)];
    const std::shared_ptr<const exchange_rows>& rows = around_.rows_of_input(taken_by, 0);
    exec::check_one_row(rows->num_rows(), graph.input_name(taken_by, 0), plan::readers_of_row(graph, row.taken_by));
    for (const expr::constant& value : exec::values_of_row(rows->type(), rows->only_row().data()))
      known_scalars.push_back({row.name + "." + value.name, value.type, value.bits});
  }
  known_scalars.insert(known_scalars.end(), scalars().begin(), scalars().end());
  if (exec::RunReport::Node* const told = node_of(job_.report, around_.full_name(n.id)))
    for (const exec::rows_handle& rows : inputs) told->set_rows_in(told->rows_in() + rows->num_rows());
  body_bytes = job_.settings.task_bytes;
  calls = &job_.calls[plan::body_of(n, 0).get()];
  job_.activities.push_back(around_.full_name(n.id));
}

control_run::~control_run() { job_.activities.resize(level_); }

std::vector<std::shared_ptr<const exchange_rows>> control_run::finish() {
  std::vector<std::shared_ptr<const exchange_rows>> out;
  uint64_t num_rows = 0, num_bytes = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    out.push_back(std::dynamic_pointer_cast<const exchange_rows>(outputs[i]));
    if (!is_read(i)) continue;
    num_rows += out[i]->num_rows();
    num_bytes += out[i]->num_bytes();
  }
  if (exec::RunReport::Node* const told = node_of(job_.report, around_.full_name(node.id))) {
    told->set_rows(told->rows() + num_rows);
    told->set_bytes(told->bytes() + num_bytes);
  }
  return out;
}

record::batch_pool& control_run::pool() { return job_.pool; }

std::shared_ptr<exec::held_rows> control_run::make_rows(const record::row_type& type, const plan::order&) {
  return std::make_shared<exchange_rows>(job_.unread, type);
}

void control_run::append(exec::held_rows& to, record::batch rows) {
  auto& files = dynamic_cast<exchange_rows&>(to);
  files.add(write_rows(job_.settings.directory.given(job_.num_given++), files.type(), rows));
}

void control_run::append_all(exec::held_rows& to, const exec::held_rows& from) {
  if (from.num_rows() > 0) dynamic_cast<exchange_rows&>(to).add(files_of(from));
}

// Tasks read at least one file.
void control_run::finish(exec::held_rows& rows) {
  auto& files = dynamic_cast<exchange_rows&>(rows);
  if (!files.has_files()) append(rows, {});
}

std::vector<std::byte> control_run::first_of(const exec::held_rows& rows) { return files_of(rows).only_row(); }

void control_run::run_body(size_t i, exec::body_streams& streams, const std::vector<uint64_t>& scalars) {
  const std::shared_ptr<const plan::graph> checked = plan::body_of(node, i);
  auto body = std::make_shared<plan::graph>(*checked);
  for (size_t s = 0; s < scalars.size(); ++s) body->scalars[s].bits = scalars[s];
  std::vector<StageTasks::Step> place = around_.place_;
  StageTasks::Step& step = place.emplace_back();
  step.set_node(static_cast<uint32_t>(&node - graph.nodes.data()));
  step.set_body(static_cast<uint32_t>(i));
  const size_t level = job_.activities.size();
  graph_run run(job_, divide(body, around_.divided_.most_tasks, around_.divided_.file_bytes), std::move(place));
  for (auto& [name, rows] : streams.in) {
    run.give(name, std::dynamic_pointer_cast<const exchange_rows>(rows));
    if (streams.in_is_used_up) rows.reset();
  }
  run.carry_out();
  for (const plan::node& n : body->nodes) {
    if (n.declaration == &plan::body_result())
      streams.out[n.id] = run.rows_of(n);
    else if (n.declaration == &plan::body_count())
      streams.counts[n.id] = run.rows_of(n)->num_rows();
  }
  job_.activities.resize(level);
}

void control_run::note(const std::string& what) {
  job_.activities.resize(level_ + 1);
  job_.activities[level_] = around_.full_name(node.id) + ": " + what;
  if (job_.stop) throw error(error_kind::cancelled, "the job was stopped", "");
}

void control_run::count_iteration() {
  if (exec::RunReport::Node* const told = node_of(job_.report, around_.full_name(node.id)))
    told->set_iterations(told->iterations() + 1);
}

void control_run::report_value(const std::string& name, const std::string& value) {
  set_result(job_.report, around_.full_name(node.id), name, value);
}

}  // namespace flowrun::cluster
