#include "operators/parts/order/distinct_values.h"

#include <fmt/format.h>

#include <algorithm>

namespace flowrun::operators {

void require_equal_values_together(plan::node_checker& node, const std::string& parameter,
                                   const std::vector<std::string>& keys, const named_aggregates& aggregates,
                                   std::string_view other_way) {
  for (const auto& [name, aggregate] : aggregates) {
    if (!aggregate.is_distinct()) continue;
    const auto column = aggregate.argument->as_column();
    if (!column) {
      node.fault_at_parameter(parameter + "." + name,
                              fmt::format("'{}' is not a column: nothing tells that its equal values follow each other",
                                          aggregate.argument->text()),
                              "count_distinct(column)", "compute it as a column with a map in front of the sort");
      continue;
    }
    const std::string value = node.input_type()[*column].name;
    std::vector<std::string> together = keys;
    if (std::find(keys.begin(), keys.end(), value) == keys.end()) together.push_back(value);
    std::string ways = fmt::format("approx_count_distinct({}), which takes any order", value);
    const auto is_other = [&](const auto& a) {
      return a.second.is_distinct() && a.second.argument->as_column() != column;
    };
    if (std::any_of(aggregates.begin(), aggregates.end(), is_other))
      ways += "; rows in one order serve one of these counts: a group for each, and a join";
    if (!other_way.empty()) ways += fmt::format("; or {}", other_way);
    if (!node.require_adjacent(0, together, ways, has_ordered(aggregates)))
      return;  // the others want sorts that exclude this one
  }
}

}  // namespace flowrun::operators
