// Where in its input a source is: in its own terms, such as file, byte and line.
#pragma once

#include <cstdint>
#include <vector>

namespace flowrun::resume {

using source_position = std::vector<uint64_t>;

}  // namespace flowrun::resume
