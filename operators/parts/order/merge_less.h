// merge with `less`: a condition over two rows, a and b, in place of columns.
#pragma once

#include <memory>
#include <optional>

#include "engine/exec/operator_definition.h"
#include "engine/plan/node_checker.h"

namespace flowrun::operators {

// Over rows that have the columns of all streams twice, as a.x and b.x.
struct merge_condition {
  record::row_type columns;  // of all streams
  expr::expression less;
  void bind(const expr::scalar_values& values) { expr::bind(less, values); }
};

// The streams may have different columns; the output has those that all have. nullopt after a fault.
std::optional<merge_condition> check_merge_less(plan::node_checker& node);
std::unique_ptr<exec::source> make_merge_less(exec::build_context& c, const merge_condition& condition);

}  // namespace flowrun::operators
