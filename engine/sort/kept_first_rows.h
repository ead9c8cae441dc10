// First rows of runs that an earlier process has left (resume/manifest.h). They were in a file, so they may be
// anything.
#pragma once

#include <vector>

#include "engine/runs/sorted_runs.h"
#include "engine/sort/settings.h"

namespace flowrun::sort {

// Runs whose first rows can't be those of rows of this type forget them: then the merge reads each run by itself.
void forget_unsound_first_rows(const sort_settings& settings, std::vector<runs::run>& runs);

}  // namespace flowrun::sort
