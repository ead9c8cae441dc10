// The nodes in the state of a job, by their names. Pure.
#pragma once

#include <string>

#include "engine/exec/report.pb.h"

namespace flowrun::runner {

// Null: there is none.
const exec::RunReport::Node* node_of(const exec::RunReport& state, const std::string& id);

// Of the phases in which it has work to do, or in which the node outside of all that it is inside of has: running,
// waiting, or finished.
exec::RunReport::Phase::State phase_state_of(const exec::RunReport& state, const exec::RunReport::Node& node);

}  // namespace flowrun::runner
