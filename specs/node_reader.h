// The nodes: section, one node at a time: op, in, with, on_error, doc.
//
//   in: a            in: a.port            in: {left: a, right: b.port}            in: [a, b, c]
//   on_error: skip   on_error: {to: PORT | skip | fail, max_ratio: 0.01}
//
// What op, the ports and the keys of with mean is not checked here: plan/ does, against the operators' declarations.
#pragma once

#include "specs/fault_sink.h"
#include "specs/job.pb.h"
#include "specs/value.h"

namespace flowrun::specs {

// Appends to job.nodes every node that has a name, also one with faults, so that references to it are not faults too.
void read_nodes(const Entry& section, JobSpec& job, fault_sink& faults);

}  // namespace flowrun::specs
