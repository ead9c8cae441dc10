// Looks at the files of a job before its first phase, which may be hours before the phase that needs them: inputs that
// are not there, outputs that can't be written.
#pragma once

#include <vector>

#include "engine/base/error.h"
#include "engine/base/fault.h"
#include "engine/plan/graph.h"

namespace flowrun::exec {

struct file_fault {
  fault what;  // at the path in the job's text
  error_kind kind;
};

// All that can be found, in the order of the nodes. Nothing is left behind, and nothing is taken from pipes. Inputs
// that only the body of a loop, a branch or a graph reads are looked at when it runs, since it may never do.
std::vector<file_fault> look_at_files(const plan::graph& checked);

}  // namespace flowrun::exec
