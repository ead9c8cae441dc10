// ~/ at the front of a path is the home directory, as in a shell. A shell replaces it only where a word begins with it,
// so neither in a job nor in -p input=~/x.
#pragma once

#include <string>

#include "specs/job.pb.h"

namespace flowrun::runner {

// The path with the home directory instead of ~. ./~/x names a directory that is called ~. Throws error(bad_spec) where
// there is no home directory.
std::string expanded_home(const std::string& path);

// The same for all paths of a job: of nodes, wherever they stand, and of scratch directories.
void expand_home(specs::JobSpec& job);
void expand_home(specs::Resources& resources);

}  // namespace flowrun::runner
