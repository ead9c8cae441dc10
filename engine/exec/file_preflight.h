// Looks at the files of a job before its first phase, which may be hours before the phase that needs them: inputs that
// are not there or are not what their node reads, outputs that can't be written.
#pragma once

#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/fault.h"
#include "engine/exec/graph_host.h"
#include "engine/plan/graph.h"

namespace flowrun::exec {

struct file_fault {
  fault what;  // at the path in the job's text
  error_kind kind;
  // The graph that reads the file, "chosen.then", where it may never run: a branch of an `if`, a call with `when`, a
  // loop whose `times` may be 0. Empty: the job is sure to come to it.
  std::string only_if_runs;
};

// All that can be found, in the order of the nodes, each path once. Nothing is left behind, and nothing is taken from
// pipes.
// `try_output` throws for a path where no output can be made; null: io::try_output.
std::vector<file_fault> look_at_files(const plan::graph& checked, const operator_set& operators,
                                      void (*try_output)(const std::string& path) = nullptr);

}  // namespace flowrun::exec
