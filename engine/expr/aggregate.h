// Aggregates: "count()", "sum(x * 2)", "max(name)", as group, sort and reduce know them.
//
// The argument is an ordinary expression over the row. Types: count gives u64; sum gives u64, i64 or f64 after its
// argument and wraps around modulo 2^64; min, max, first and last keep the argument's type, text included.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engine/expr/expression.h"
#include "engine/expr/scalars.h"

namespace flowrun::expr {

enum class aggregate_kind { count, sum, min, max, first, last };

struct aggregate {
  aggregate_kind kind = aggregate_kind::count;
  std::optional<expression> argument;  // none for count
  record::value_type result;
  void bind(const scalar_values& values) { expr::bind(argument, values); }
};

struct compiled_aggregate {
  std::optional<aggregate> value;  // set exactly when there are no problems
  std::vector<problem> problems;
};

compiled_aggregate compile_aggregate(std::string_view text, const scope& names);

// "count", "sum", …
std::string_view to_string(aggregate_kind kind);

}  // namespace flowrun::expr
