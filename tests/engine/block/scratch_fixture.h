// The names that the rigs of jobs still use. It goes when they do.
#pragma once

#include "tests/support/scratch_rig.h"

namespace flowrun::block {
using flowrun::memory_options;
using flowrun::temporary_directory;
}  // namespace flowrun::block
