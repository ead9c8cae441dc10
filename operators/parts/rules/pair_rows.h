// Rows for expressions over two rows, a and b: each column x of a is "a.x", each of b is "b.x".
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/record/row_type.h"
#include "operators/parts/rules/program.h"

namespace flowrun::operators {

// Columns `left` of `a`, then columns `right` of `b`.
record::row_type pair_type(const record::row_type& a, const std::vector<size_t>& left, const record::row_type& b,
                           const std::vector<size_t>& right);
// All columns of both.
record::row_type pair_type(const record::row_type& a, const record::row_type& b);

// Which columns of a and of b some expressions over pair_type(a, b) read.
struct pair_columns {
  std::vector<size_t> left, right;  // ascending
  void add(const expr::expression& value, const record::row_type& a);
  // For expression::over: where each column of pair_type(a, b) lies among these. Columns that no expression reads may
  // have any place.
  std::vector<size_t> places(const record::row_type& a) const;
};

}  // namespace flowrun::operators
