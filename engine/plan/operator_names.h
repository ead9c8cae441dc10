// Whether the operators that a job names exist: the one question about them that a job can be asked whose nodes don't
// read each other as they should.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/fault.h"
#include "engine/plan/graph.h"
#include "specs/job.pb.h"

namespace flowrun::plan {

// What is wrong with the name of the node's operator; nothing where there is one of that name, or none was read.
std::optional<fault> unknown_operator(const specs::Node& node, const std::string& file, const vocabulary& catalog);

// Of all nodes of a job that has faults already, with those inside of other nodes. Names of plugins are left out: what
// is wrong with the job may be the plugin.
std::vector<fault> unknown_operators(const specs::JobSpec& job, const vocabulary& catalog);

}  // namespace flowrun::plan
