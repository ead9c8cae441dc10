// Sizes that became known after the check. Pure.
#pragma once

#include <map>
#include <string>

#include "engine/plan/graph.h"

namespace flowrun::plan {

// Sets the estimates of a body's streams, by id, and lets the operators' checks carry them on to all nodes behind.
// Types and orders stay. Sources and control nodes keep their estimates.
void update_estimates(graph& body, const std::map<std::string, row_estimate>& streams);

}  // namespace flowrun::plan
