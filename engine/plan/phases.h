// Which pipelines run at the same time. Pure.
//
// Each pipeline gets a level. As soon as possible: one more than the pipelines that fill the breaker at its head, the
// stored inputs of its nodes or the rows whose values they name, and no less than the producers of its queues. Then as
// late as possible, in reverse: a producer is delayed until what it makes is needed (the pipeline behind its breaker,
// less one; the reader of its queue). So a file that is only joined with the result of a sort is read in the phase of
// the join, and intermediate rows live as short as possible. Pipelines of one level that queues connect run together;
// groups without a connection become phases of their own, one after another, so that each has the whole memory. Cost:
// linear in pipelines and queues.
#pragma once

#include <vector>

#include "engine/plan/pipelines.h"

namespace flowrun::plan {

std::vector<int> pipeline_levels(const graph& g, const pipeline_layout& layout);

// Sets pipeline::phase. Phases are in the order they run: by level, then by their first head.
std::vector<phase> find_phases(const graph& g, pipeline_layout& layout);

}  // namespace flowrun::plan
