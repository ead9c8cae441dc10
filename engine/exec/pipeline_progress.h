// What the pipelines of a plan have done and will come to, from the counters of their heads.
#pragma once

#include <deque>
#include <vector>

#include "engine/exec/services.h"
#include "engine/metrics/work.h"
#include "engine/plan/graph.h"
#include "engine/plan/physical_plan.h"

namespace flowrun::exec {

// One entry for each pipeline that moves by itself. `counters`: of the graph's nodes.
std::vector<metrics::pipeline_work> work_of(const plan::graph& g, const plan::physical_plan& plan,
                                            const std::deque<node_counters>& counters, size_t phase_now);

}  // namespace flowrun::exec
