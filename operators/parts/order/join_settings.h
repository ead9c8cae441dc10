// What the parameters of a join mean: its keys, the order that it needs, and the columns that it gives.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/plan/node_checker.h"

namespace flowrun::operators {

enum class join_kind { inner, left, full, semi, anti };

struct join_settings {
  std::vector<std::pair<std::string, std::string>> by;  // (left column, right column)
  join_kind kind = join_kind::inner;
  std::string matched;  // empty: no such column
  bool skip = false;    // the right rows are stored, and read where left keys are
  // The keys in the sequence and the directions that both inputs are sorted by.
  plan::order left_order, right_order;

  bool gives_right_columns() const { return kind != join_kind::semi && kind != join_kind::anti; }
  bool is_right_key(const std::string& column) const;
};

std::vector<plan::parameter_declaration> join_parameters();
join_settings check_join(plan::node_checker& node);

}  // namespace flowrun::operators
