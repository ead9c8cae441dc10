// Cutting the graph into pipelines. Pure.
//
// A pipeline is a tree: one task carries a batch from its head through all nodes behind it. It is cut at breakers,
// which end one pipeline and head another, before meeting nodes, which head pipelines and read queues, and at stored
// inputs, which end in their node's storage.
//   edges ─▶ proper ─▶ sort(create)  |  sort(merge) ─▶ queue  |  join ─▶ write
//   names ─▶ lookup.table  |  edges ─▶ lookup ─▶ write
// A stage with stored inputs stays in the pipeline it flows in, unless one of them is filled by that pipeline or by
// something behind it: then it is cut off, and reads a queue. So is a stage whose expressions name values of a row that
// is taken in there (`scalars:`); in front of a breaker, and of an input that an operator stores in its own way, a
// stage waits for such values (body_ports.h).
#pragma once

#include <vector>

#include "engine/plan/physical_plan.h"

namespace flowrun::plan {

struct pipeline_layout {
  std::vector<pipeline> pipelines;  // by head
  std::vector<queue> queues;
  std::vector<int> feeds;  // per node: the pipeline that carries rows into it; -1 for sources and what reads queues. Of
                           // a control node: the one in which it is at work
  std::vector<int> gives;  // per node: the pipeline that its outputs flow in; -1: no node reads them
  // The pipeline in which a node with stored inputs uses them.
  int uses(int node) const {
    const auto n = static_cast<size_t>(node);
    return feeds[n] >= 0 ? feeds[n] : gives[n];
  }
};

pipeline_layout find_pipelines(const graph& g);

// `before` runs in an earlier phase than `after` (strict), or in no later one.
struct pipeline_dependency {
  size_t before = 0;
  size_t after = 0;
  bool strict = false;
};
std::vector<pipeline_dependency> dependencies(const graph& g, const pipeline_layout& layout);

// The nodes from the head of its pipeline down to where a queue starts, each with the port that leads on.
std::vector<std::pair<int, int>> path_to(const graph& g, const pipeline_layout& layout, const queue& q);

}  // namespace flowrun::plan
