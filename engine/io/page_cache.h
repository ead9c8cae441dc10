// How much of a file the page cache holds already: reading that part again from the disk would be a waste.
#pragma once

#include <cstdint>

namespace flowrun::io {

// The share (0 to 1) of [begin, end) that is cached, from a few samples. 0 when it can't be found out.
double cached_share(int descriptor, uint64_t begin, uint64_t end);

}  // namespace flowrun::io
