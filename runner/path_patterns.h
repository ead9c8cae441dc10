// Wildcards in the paths of sources: each becomes the list of the files that it matches now, sorted by name. A folder that
// a job on a cluster has written becomes the list of its parts. So checks, plans, runs and what --resume keeps all speak
// of the same files.
#pragma once

#include <vector>

#include "engine/base/fault.h"
#include "specs/job.pb.h"

namespace flowrun::runner {

// Where the lists of paths in the job have patterns or folders. Adds a fault for one that matches nothing; without `must_match` it
// stays as it is.
void expand_path_patterns(specs::JobSpec& job, bool must_match, std::vector<fault>& faults);

}  // namespace flowrun::runner
