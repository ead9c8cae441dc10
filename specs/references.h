// Who reads whom: every input names a node that exists, and the nodes make no circle.
//
// This much needs no operator's declaration. Cost: nodes plus inputs; no recursion, so a chain of any length is fine.
#pragma once

#include "specs/fault_sink.h"
#include "specs/job.pb.h"

namespace flowrun::specs {

void check_references(const JobSpec& job, fault_sink& faults);

}  // namespace flowrun::specs
