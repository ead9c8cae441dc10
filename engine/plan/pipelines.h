// Cutting the graph into pipelines. Pure.
//
// A pipeline is a tree: one task carries a batch from its head through all nodes behind it. It is cut at breakers,
// which end one pipeline and head another, and before meeting nodes, which head pipelines and read queues.
//   edges ─▶ proper ─▶ sort(create)  |  sort(merge) ─▶ queue  |  join ─▶ write
#pragma once

#include <vector>

#include "engine/plan/physical_plan.h"

namespace flowrun::plan {

struct pipeline_layout {
  std::vector<pipeline> pipelines;  // by head, so that a pipeline comes behind all that it needs
  std::vector<queue> queues;
  std::vector<int> feeds;  // per node: the pipeline that carries rows into it; -1 for sources and meeting nodes
  std::vector<int> gives;  // per node: the pipeline that its outputs flow in
};

pipeline_layout find_pipelines(const graph& g);

// The nodes from the head of its pipeline down to where a queue starts, each with the port that leads on.
std::vector<std::pair<int, int>> path_to(const graph& g, const pipeline_layout& layout, const queue& q);

}  // namespace flowrun::plan
