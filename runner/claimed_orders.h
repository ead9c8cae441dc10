// What the nodes of a plugin say before the run about what they give, and whether it is so.
#pragma once

#include <string>
#include <vector>

#include "engine/exec/report.pb.h"
#include "engine/plan/graph.h"
#include "specs/job.pb.h"

namespace flowrun::runner {

// The job with a check behind each output that a node of the plugin says is sorted. `redirected`: what runs; `checked`:
// the graph of the same nodes. Only nodes of the job itself, not those inside of others.
specs::JobSpec with_orders_checked(const specs::JobSpec& redirected, const plan::graph& checked,
                                   const std::string& plugin);

// Outputs of the plugin's nodes that have not as many rows as was said to be certain, a line each.
std::vector<std::string> wrong_estimates(const plan::graph& checked, const exec::RunReport& report,
                                         const std::string& plugin);

// "PLUGIN.WORD": one of the plugin's operators.
bool is_of_plugin(const plan::node& node, const std::string& plugin);

}  // namespace flowrun::runner
