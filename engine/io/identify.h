// Asks the system which file a path names (engine/base/file_identity.h).
#pragma once

#include <string>

#include "engine/base/file_identity.h"

namespace flowrun::io {

// `path`: of an input or, with `writes`, of an output; "-" is standard input or output. Never fails: of what can't be
// looked at, only the spelling counts.
file_identity identify(const std::string& path, bool writes);

// From the root on, and without links as far as it exists. Never fails: what can't be looked up stays as it is spelled.
std::string resolved_path(const std::string& path);

}  // namespace flowrun::io
