// The parameter `range` of sources: a stretch of rows, FROM:TO.
#pragma once

#include <cstdint>
#include <string>

#include "engine/plan/node_checker.h"

namespace flowrun::operators {

struct row_range {
  uint64_t from = 0;
  uint64_t to = UINT64_MAX;  // without this row
};

// "10:20", "10:", ":20"; all rows where the parameter is absent. Reports what is wrong.
row_range row_range_parameter(plan::node_checker& node, const std::string& name);

}  // namespace flowrun::operators
