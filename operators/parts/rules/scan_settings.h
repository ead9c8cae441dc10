// What the parameters of a scan mean: either state, set and emit, or the shorthands number, prefix_sum and the ranks.
#pragma once

#include <string>
#include <vector>

#include "engine/plan/node_checker.h"
#include "operators/parts/rules/program.h"
#include "operators/parts/rules/row_entries.h"

namespace flowrun::operators {

struct scan_settings {
  // The general form.
  std::vector<expr::variable> state;
  std::vector<expr::expression> initial;  // of each variable
  named_expressions updates;              // of variables, in order
  named_expressions emit;                 // empty: `rows` holds what is emitted
  std::optional<expr::expression> when;   // rows are emitted only where it holds
  std::vector<row_entry> rows;
  // The shorthands.
  std::string number;      // empty: none
  named_expressions sums;  // their values as u64, i64 or f64
  struct rank {
    std::string name;
    std::vector<std::string> columns;
    bool dense;  // numbers distinct values; otherwise rows
  };
  std::vector<rank> ranks;
  bool exclusive = false;
  std::vector<std::string> reset;  // columns

  void bind(const expr::scalar_values& values) { expr::bind_all(values, initial, updates, emit, when, rows, sums); }
  bool is_shorthand() const { return !number.empty() || !sums.empty() || !ranks.empty(); }
};

std::vector<plan::parameter_declaration> scan_parameters();
scan_settings check_scan(plan::node_checker& node);

}  // namespace flowrun::operators
