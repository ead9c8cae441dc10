// Whether a job's files have room. Its scratch: what the disks have free, what each directory may take, and what all of
// them may take together. Its outputs: what their disks have free.
#pragma once

#include <string>

#include "engine/plan/graph.h"
#include "engine/plan/physical_plan.h"
#include "runner/resources.h"
#include "runner/terminal.h"

namespace flowrun::runner {

struct scratch_room {
  uint64_t num_bytes = 0;  // that all directories may take; UINT64_MAX: not known
  std::string from;        // what limits it: "the scratch limit", "the scratch directories have free or may take"
};

// Looks at the file systems of the directories, or of those in which they would be made.
scratch_room room_for_scratch(const resources& machine);

enum class scratch_verdict {
  enough,
  maybe_too_little,  // what is predicted doesn't fit, but predictions are estimates or bounds
  too_little,        // what the job writes at least doesn't fit
};

// Pure.
scratch_verdict judge_scratch(const plan::physical_plan& plan, uint64_t room_bytes);

// Warns where the room may be too little. Where it certainly is, throws error(resources), or warns too if `only_warn`.
void check_scratch_room(const plan::physical_plan& plan, const resources& machine, bool only_warn, terminal& screen);

// The same where outputs certainly don't fit: throws error(output), or warns if `only_warn`. Of what they replace
// nothing is counted as free, since it stays until they get their names.
void check_output_room(const plan::graph& graph, bool only_warn, terminal& screen);

}  // namespace flowrun::runner
