// Aggregates: "count()", "sum(x * 2)", "max(name)", "sketch.distinct(word)", as group, sort and reduce know them.
//
// The argument is an ordinary expression over the row. Types: count gives u64; sum gives u64, i64 or f64 after its
// argument and wraps around modulo 2^64 (that of decimals is exact, and an aggregate with a state); min, max, first and
// last keep the argument's type, text included; count_distinct gives u64, and its rows have to come with equal values
// next to each other. Those of plugins have any number of arguments and say what they give.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engine/expr/expression.h"
#include "engine/expr/outside_aggregate.h"
#include "engine/expr/scalars.h"

namespace flowrun::expr {

enum class aggregate_kind { count, sum, min, max, first, last, distinct, outside };

// A call of an outside aggregate.
struct aggregate_call {
  const outside_aggregate* function = nullptr;
  std::vector<expression> given;
  // What update() gets of them: of the wanted types, or of narrower ones that widen into them.
  std::vector<expression> arguments;
  aggregate_binding bound;
  // Binds it again. Throws error(bad_spec) when that can't be.
  void bind(const scalar_values& values);
  // The state after one row, as bytes[N].
  expression state_of_row() const;
};

struct aggregate {
  aggregate_kind kind = aggregate_kind::count;
  std::optional<expression> argument;  // none for count, and for an outside aggregate
  record::value_type result;
  std::optional<aggregate_call> outside;
  // It counts changes from one row to the next: equal values have to follow each other.
  bool is_distinct() const { return kind == aggregate_kind::distinct; }
  // Whether the order of the rows matters, as that of first and last.
  bool is_ordered() const;
  void bind(const scalar_values& values);
};

struct compiled_aggregate {
  std::optional<aggregate> value;  // set exactly when there are no problems
  std::vector<problem> problems;
};

compiled_aggregate compile_aggregate(std::string_view text, const scope& names);

}  // namespace flowrun::expr
