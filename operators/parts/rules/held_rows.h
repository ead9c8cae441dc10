// Operators that hold rows of one key or of a window: how much they get of a budget, and what to say where it isn't
// enough.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "engine/base/units.h"

namespace flowrun::operators {

// Few rows are usual. More than this they don't get, whatever the budget is: sorts have better use for it.
constexpr uint64_t most_held_bytes = 256 * MiB;

// Behind what else helps, for an operator that has `has` of at most `most` bytes.
inline std::string or_more_memory(uint64_t has, uint64_t most = most_held_bytes) {
  return has < most ? "; or raise the memory budget (-m)"
                    : fmt::format("; a larger memory budget doesn't help, since {} are its most", format_bytes(most));
}

}  // namespace flowrun::operators
