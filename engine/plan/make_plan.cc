// Graph to physical plan: pipelines, phases, queues, memory, prediction, in this sequence; each step is a file of its
// own. The graphs inside of control nodes are planned in the same way, with what their nodes were given.
#include "engine/plan/control_memory.h"
#include "engine/plan/memory.h"
#include "engine/plan/phases.h"
#include "engine/plan/pipelines.h"
#include "engine/plan/prediction.h"
#include "engine/plan/queue_kinds.h"
#include "engine/sizes/batches_in_flight.h"

namespace flowrun::plan {

uint64_t physical_plan::share_of(int node, node_part part, int input) const {
  for (const memory_share& s : shares)
    if (s.node == node && s.part == part && s.input == input) return s.given;
  return 0;
}

uint64_t physical_plan::kept_of(int node, int input) const {
  for (const memory_share& s : shares)
    if (s.node == node && s.part == node_part::intake && s.input == input) return s.kept_bytes;
  return 0;
}

const queue* physical_plan::queue_into(int node, int input) const {
  for (const queue& q : queues)
    if (q.to_node == node && q.to_input == input) return &q;
  return nullptr;
}

uint64_t physical_plan::num_bounded_queues(size_t phase) const {
  uint64_t count = 0;
  for (int p : phases[phase].pipelines)
    for (int q : pipelines[static_cast<size_t>(p)].queues)
      count += queues[static_cast<size_t>(q)].kind == queue_kind::bounded ? 1 : 0;
  return count;
}

uint64_t physical_plan::longest_row(size_t phase) const {
  return sizes::longest_row(resources.memory_bytes, num_bounded_queues(phase));
}

node_part part_in(const graph& g, const pipeline& p, int node) {
  const plan::node& n = g.nodes[static_cast<size_t>(node)];
  if (n.role() == operator_role::breaker) return p.head == node ? node_part::work : node_part::intake;
  if (n.role() == operator_role::control && p.head == node) return p.control ? node_part::work : node_part::results;
  return n.stores() ? node_part::work : node_part::whole;
}

std::string to_string(operator_role role) {
  static constexpr std::array names = {"source", "stateless", "ordered", "breaker", "meeting", "sink", "control"};
  return names[static_cast<size_t>(role)];
}

std::string to_string(node_part part) {
  switch (part) {
    case node_part::whole: return "whole";
    case node_part::intake: return "intake";
    case node_part::work: return "work";
    case node_part::results: return "results";
  }
  return {};
}

const sort_prediction* physical_plan::sort_of(int node) const {
  for (const sort_prediction& s : sorts)
    if (s.node == node) return &s;
  return nullptr;
}

namespace {

// Everything but the memory.
pipeline_layout lay_out(const graph& g, const machine& resources, physical_plan& plan) {
  plan.resources = resources;
  pipeline_layout layout = find_pipelines(g);
  plan.phases = find_phases(g, layout);
  decide_queues(g, layout);
  plan.pipelines = layout.pipelines;
  plan.queues = layout.queues;
  return layout;
}

void plan_bodies(const graph& g, plan_result& result) {
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const node& n = g.nodes[i];
    machine inside = result.plan.resources;
    inside.memory_bytes =
        divide_control_memory(n, inside, result.plan.share_of(static_cast<int>(i), node_part::work)).body_bytes;
    inside.pattern_bytes = 0;  // set aside around them
    for (size_t b = 0; b < n.bodies.size(); ++b) {
      plan_result planned = make_plan(*n.bodies[b], inside);
      result.faults.insert(result.faults.end(), planned.faults.begin(), planned.faults.end());
      result.plan.bodies.push_back(
          {static_cast<int>(i), b, std::make_shared<const physical_plan>(std::move(planned.plan))});
    }
  }
}

}  // namespace

plan_result make_plan(const graph& g, const machine& resources) {
  plan_result result;
  const pipeline_layout layout = lay_out(g, resources, result.plan);
  split_memory(g, layout, result.plan, result.faults);
  if (!result.faults.empty()) return result;
  plan_bodies(g, result);
  predict(g, layout, result.plan);
  return result;
}

uint64_t least_memory(const graph& g, const machine& resources) {
  physical_plan plan;
  const pipeline_layout layout = lay_out(g, resources, plan);
  return least_memory(g, layout, plan);
}

}  // namespace flowrun::plan
