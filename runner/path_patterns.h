// Wildcards in the paths of sources: each becomes the list of the files that it matches now, sorted by name. A folder
// that a job on a cluster has written becomes the list of its parts, in the order of its manifest. So checks, plans,
// runs and what --resume keeps all speak of the same files.
#pragma once

#include <string>
#include <vector>

#include "engine/base/fault.h"
#include "engine/io/path_pattern.h"
#include "specs/job.pb.h"

namespace flowrun::runner {

// Where the lists of paths in the job have patterns or folders. Adds a fault to `unmatched` for a pattern that matches
// nothing, and to `faults` for a folder that isn't as its manifest says; without `must_match` they stay as they are.
void expand_path_patterns(specs::JobSpec& job, bool must_match, std::vector<fault>& faults,
                          std::vector<fault>& unmatched);

// What a pattern matches, but for manifests of such folders whose parts it matches, too: FOLDER/* are the parts.
io::path_matches matches_without_manifests(const std::string& pattern);

}  // namespace flowrun::runner
