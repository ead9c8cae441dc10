// What must hold between nodes: every output is read by some node. Pure.
#pragma once

#include <vector>

#include "engine/base/fault.h"
#include "engine/plan/connections.h"
#include "engine/plan/graph.h"

namespace flowrun::plan {

// Outputs without a consumer are faults, except of operators that say something by themselves; of a control node, one
// has to be read. Of a node that is not `good`, it is only known whether any node reads it at all.
void check_outputs_used(const graph& g, const std::vector<bool>& good, const connector& connections,
                        std::vector<fault>& faults);

}  // namespace flowrun::plan
