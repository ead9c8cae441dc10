// Which nodes a checked graph has, in their order: those of the user, and those that the checker adds (body_ports.h).
// Known before any of them is checked. Pure.
#pragma once

#include <vector>

#include "engine/plan/graph.h"
#include "engine/plan/sub_graphs.h"

namespace flowrun::plan {

// What a place in the graph is for: a node of the user's, what takes in a row whose values such nodes name (`row`), or
// what waits in front of the node `spec`.
struct graph_place {
  const specs::Node* spec = nullptr;
  const specs::Input* row = nullptr;
  bool waits = false;
};

// Of the nodes in `sequence`. A row is taken in once, in front of the first node that names its values; what waits for
// a node lies right in front of it.
std::vector<graph_place> places_of(const std::vector<const specs::Node*>& nodes, const std::vector<int>& sequence,
                                   const vocabulary& catalog);

// The streams of a body, one node for each reader, all with the stream's name: rows that lie in a vector are read as
// often as they are wanted, and branches that start with them need not run in step.
std::vector<const body_input*> streams_of(const body_request& request);

}  // namespace flowrun::plan
