// How many rows an input has, where the job alone decides it. A wrong number of them is then a fault of the job, which
// is said before the run; where files decide, it is bad data, which the run finds. In bodies nothing is said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/plan/node_checker.h"

namespace flowrun::operators {

std::optional<uint64_t> fixed_rows(const plan::node_checker& node, size_t input);

}  // namespace flowrun::operators
