// What must hold between nodes: every output is read by somebody, and no two nodes disagree about a file. Pure.
#pragma once

#include <string>
#include <vector>

#include "engine/base/fault.h"
#include "engine/plan/connections.h"
#include "engine/plan/graph.h"

namespace flowrun::plan {

// Outputs without a consumer are faults, except of operators that say something by themselves; of a control node one
// has to be read. Of a node that is not
// good only whether anybody reads it at all is known.
void check_outputs_used(const graph& g, const std::vector<bool>& good, const connector& connections,
                        std::vector<fault>& faults);

// A file that a source reads or a sink writes.
struct file_use {
  std::string path;  // lexically normal
  std::string node;  // its id
  bool writes = false;
  specs::Position where;
};

// The files of a source or sink whose parameters have the right shape.
std::vector<file_use> files_of(const node& n);

// And what it reads or writes beside them, once it was checked: PATH.index, where it has the fact "has_index".
std::vector<file_use> indexes_of(const node& n);

// Two sinks with one file, a sink that replaces what a source reads, two readers of standard input.
void check_files(const std::string& job_file, const std::vector<file_use>& files, std::vector<fault>& faults);

}  // namespace flowrun::plan
