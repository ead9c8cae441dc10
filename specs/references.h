// Checks which node reads from which: every input names what its node can see, and nodes make no circle.
//
// The nodes of a job see each other. The nodes of a body or a named graph see each other and what is brought in: the
// inputs of the control node or graph, and what a loop carries; nothing else from outside, so that a body can be run by
// itself. This much needs no operator's declaration. Cost: nodes plus inputs; recursion only into bodies, whose depth
// is bounded, so a chain of any length is fine.
#pragma once

#include "specs/fault_sink.h"
#include "specs/job.pb.h"

namespace flowrun::specs {

void check_references(const JobSpec& job, fault_sink& faults);

}  // namespace flowrun::specs
