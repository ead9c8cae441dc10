// Which phases of a job that is resumed need not run again, since all that they made lies in complete runs; and which
// runs nobody needs any more.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/plan/graph.h"
#include "engine/plan/physical_plan.h"
#include "engine/resume/manifest.h"

namespace flowrun::exec {

// By phase. `manifest` may be null: none is finished.
std::vector<bool> finished_phases(const plan::graph& g, const plan::physical_plan& plan, resume::manifest* manifest);

// After phase `x` has run: the sorts that it has read are released, if all that came of them is in complete runs.
void release_what_was_read(const plan::graph& g, const plan::physical_plan& plan, size_t x, resume::manifest& manifest);

}  // namespace flowrun::exec
