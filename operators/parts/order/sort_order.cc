#include "operators/parts/order/sort_order.h"

#include <fmt/format.h>

namespace flowrun::operators {

plan::order order_parameter(plan::node_checker& node, const std::string& name) {
  plan::order out;
  for (const plan::sort_key& k : node.sort_keys(name, expr::scope{.row = &node.input_type()})) {
    if (k.term)
      out.push_back(*k.term);
    else
      node.fault_at_parameter(name, fmt::format("'{}' is not a column", k.value.text()),
                              "a column, -column, or column[from:to]",
                              "compute it as a column with a map in front of the sort");
  }
  if (out.empty() && node.ok()) node.fault_at_parameter(name, "no key is given", "[column, …]");
  return out;
}

void require_equal_types(plan::node_checker& node) {
  for (size_t i = 1; i < node.num_inputs(); ++i)
    if (node.input_type(i) != node.input_type(0))
      node.fault_at_input(i,
                          fmt::format("'{}' has rows of {}, '{}' of {}", node.input_name(i),
                                      to_string(node.input_type(i)), node.input_name(0), to_string(node.input_type(0))),
                          "the same columns and types in every input", "bring them into one form with a map");
}

}  // namespace flowrun::operators
