// Graph to physical plan: pipelines, phases, queues, memory, prediction, in this sequence; each step is a file of its
// own.
#include "engine/plan/memory.h"
#include "engine/plan/phases.h"
#include "engine/plan/pipelines.h"
#include "engine/plan/prediction.h"
#include "engine/plan/queue_kinds.h"

namespace flowrun::plan {

uint64_t physical_plan::share_of(int node, int half) const {
  for (const memory_share& s : shares)
    if (s.node == node && s.half == half) return s.given;
  return 0;
}

uint64_t physical_plan::kept_of(int node) const {
  for (const memory_share& s : shares)
    if (s.node == node && s.half == 0) return s.kept_bytes;
  return 0;
}

const sort_prediction* physical_plan::sort_of(int node) const {
  for (const sort_prediction& s : sorts)
    if (s.node == node) return &s;
  return nullptr;
}

plan_result make_plan(const graph& g, const machine& resources) {
  plan_result result;
  physical_plan& plan = result.plan;
  plan.resources = resources;
  pipeline_layout layout = find_pipelines(g);
  plan.phases = find_phases(g, layout);
  decide_queues(g, layout);
  plan.pipelines = layout.pipelines;
  plan.queues = layout.queues;
  split_memory(g, layout, plan, result.faults);
  if (result.faults.empty()) predict(g, layout, plan);
  return result;
}

}  // namespace flowrun::plan
