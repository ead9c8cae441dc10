// A plan for people: what really runs, in which phases, with which memory, and what it will cost. Pure.
#pragma once

#include <string>

#include "engine/plan/physical_plan.h"

namespace flowrun::plan {

// Phases with their pipelines ("edges ─▶ proper ─▶ sorted (create)"), row types, orders, memory; sorts; queues; totals.
std::string explain_text(const graph& g, const physical_plan& plan);

// For Graphviz: a cluster per phase, a breaker as two halves.
std::string explain_dot(const graph& g, const physical_plan& plan);

// "sorted (create)", "sorted (merge)" for the halves of a breaker, otherwise the id.
std::string part_name(const node& n, node_part part);

// "341,948 rows, 5.47 MiB", "at most 10 rows, …", "unknown"
std::string to_string(const row_estimate& e);

}  // namespace flowrun::plan
