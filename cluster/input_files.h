// The input files of a job, as the driver found them. Tasks read them at other times, in parts and on other machines:
// whatever changes meanwhile would give a mixture, so each task compares the files that it reads, before and after.
#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.pb.h"
#include "engine/plan/graph.h"

namespace flowrun::cluster {

// Of the graph and those inside of it. What is no regular file, and what isn't there, is left out.
std::vector<Plan::InputFile> look_at_input_files(const plan::graph& g);

// Those of the plan that the graph reads are as they were. Throws error(bad_data) that names the one that isn't.
void compare_input_files(const Plan& plan, const plan::graph& g);

}  // namespace flowrun::cluster
