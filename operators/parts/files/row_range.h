// The parameter `range` of sources: a stretch of rows, or of the bytes of a text, FROM:TO.
#pragma once

#include <cstdint>
#include <string>

#include "engine/plan/node_checker.h"

namespace flowrun::operators {

struct row_range {
  uint64_t from = 0;
  uint64_t to = UINT64_MAX;  // without this row
  bool is_all() const { return from == 0 && to == UINT64_MAX; }
};

// "10:20", "10:", ":20"; all rows where the parameter is absent. Reports what is wrong. `what`: is counted.
row_range row_range_parameter(plan::node_checker& node, const std::string& name, const std::string& what = "rows");

}  // namespace flowrun::operators
