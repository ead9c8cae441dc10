// The sections of a job: a tree of values (parameters replaced) to a JobSpec.
#pragma once

#include "specs/fault_sink.h"
#include "specs/job.pb.h"
#include "specs/value.h"

namespace flowrun::specs {

// Fills everything of `job` but file and params. `root` is the whole tree; its params: section is left alone.
void read_sections(const Value& root, JobSpec& job, fault_sink& faults);

}  // namespace flowrun::specs
