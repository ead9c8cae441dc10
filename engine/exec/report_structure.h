// What the report says about the shape of a job, so that a finished run can be drawn: edges between nodes, pipelines,
// phases with their times, and who has which part of the memory. Pure.
#pragma once

#include <functional>

#include "engine/exec/job_report.h"

namespace flowrun::exec {

// Graphs inside of control nodes follow the graph that they are inside of, with the pipelines that they had in the plan
// before the run.
void add_structure(const report_input& in, RunReport& report);

// Says of an edge what kind it has, and what has gone over it: from `from` into the input with that index of node `to`.
using edge_description =
    std::function<void(const plan::input_port& from, size_t to, size_t input, RunReport::Edge& edge)>;
// The edges of one graph, and not of those inside of its nodes.
void add_edges(const plan::graph& g, const edge_description& describe, RunReport& report);

}  // namespace flowrun::exec
