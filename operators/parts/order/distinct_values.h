// count_distinct of a group or a reduce: it counts where the value changes, so equal values have to follow each other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/node_checker.h"
#include "operators/parts/order/aggregation.h"

namespace flowrun::operators {

// Faults for each count_distinct of `parameter` whose argument is no column of input 0, or whose equal values, together
// with those of `keys`, are not proved to be next to each other. `other_way`: what helps, beside the sort that the
// message names.
void require_equal_values_together(plan::node_checker& node, const std::string& parameter,
                                   const std::vector<std::string>& keys, const named_aggregates& aggregates,
                                   std::string_view other_way = {});

}  // namespace flowrun::operators
