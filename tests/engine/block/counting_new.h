// Counts what the program allocates with new, on all threads.
#pragma once

#include <cstdint>

namespace flowrun {

uint64_t num_allocations();

}  // namespace flowrun
