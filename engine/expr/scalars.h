// Values of the moment. A scalar of a loop or a graph is a name in checked expressions: its type is known, and its
// value comes with the run. What a pipeline is built from gets the values that hold then (bind).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/expr/expression.h"
#include "engine/expr/node.h"

namespace flowrun::expr {

using scalar_values = std::vector<constant>;

// The type of a column's value as a scalar: u64, i64, f64, bool, date, timestamp or a decimal. nullopt: a text, which
// can't be a scalar.
std::optional<record::value_type> scalar_type(record::value_type column);
// The value in a row's field, as the bits of a scalar.
uint64_t scalar_bits(const std::byte* field, record::value_type column);

// A leaf that stands for the scalar until values are bound.
node_ptr unbound_scalar_node(std::string name, record::value_type type);

// Uses no column, state or row number; scalars it may use.
bool is_without_rows(const node& n);
// The value as a constant; null where it depends on more than constants.
node_ptr constant_value(const node_ptr& n);

// Puts the values of the scalars into all expressions of `x`: an expression, optionals, lists and (name, …) pairs of
// them, and every type that has a function bind(values) of its own. Of scalars with one name the first counts.
template <class T>
void bind(T& x, const scalar_values& values) {
  if constexpr (std::is_same_v<T, expression>)
    x = x.with(values);
  else if constexpr (requires { x.bind(values); })
    x.bind(values);
  else if constexpr (requires { x.has_value(); }) {
    if (x.has_value()) expr::bind(*x, values);
  } else if constexpr (requires { x.second; })
    expr::bind(x.second, values);
  else
    for (auto& each : x) expr::bind(each, values);
}

template <class... T>
void bind_all(const scalar_values& values, T&... all) {
  (expr::bind(all, values), ...);
}

}  // namespace flowrun::expr
