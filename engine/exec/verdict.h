// What bounded a run, from its report, and what would make it faster. Pure.
//
// A run is bound by what worked, or was waited for, nearly all of the time: a disk of the scratch, a file that came or
// went too slowly, all threads, or one node that one thread at a time carries. Where the scratch disks are the limit
// and sorts needed more than one merge pass, the limit behind them is memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "engine/exec/report.pb.h"
#include "engine/plan/other_memory.h"

namespace flowrun::exec {

// What the report alone doesn't tell.
struct surroundings {
  unsigned usable_cores = 1;                       // of the machine
  std::optional<plan::other_memory> other_memory;  // with which scratch would be used less
  std::map<std::string, std::string> paths;        // by node: of a source or a sink. "-" is a pipe or a terminal.
};

// `kind` is one of disk, input, output, processor, node, memory, nothing. `share` is the part of the time, 0 to 1, and
// `gain` the part of the time that `setting` would save at most; 0: not known.
RunReport::Limit limit_of(const RunReport& report, const surroundings& around);

// One sentence for people.
std::string sentence_of(const RunReport::Limit& limit);

}  // namespace flowrun::exec
