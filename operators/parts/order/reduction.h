// A stream as one row of aggregates: what reduce does, and the two steps in which the tasks of a cluster do it.
//
// Each batch is reduced to one row of partial results by a stateless stage, in parallel; an ordered stage combines
// these rows. Integers, min, max, first and last combine exactly, and so do states of functions that say so. A sum of
// floats depends on the order of its additions: with one, the ordered stage adds row after row, so that the result is a
// function of the input alone, and there are no two steps. The hash of rows is a sum modulo 2^128.
//
// In two steps, each task gives the partial results of its rows as one row, or no row where it has none: the minimum of
// nothing would be 0. One task combines these rows in the order of the stream.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/exec/operator_definition.h"
#include "operators/parts/order/aggregation.h"

namespace flowrun::operators {

struct reduction {
  named_aggregates aggregates;
  bool hash = false;
  record::row_type rows;  // that are reduced
  void bind(const expr::scalar_values& values) { expr::bind(aggregates, values); }
};

// `let` and `hash`, of rows of this type; reports what is wrong.
reduction read_reduction(plan::node_checker& node, record::row_type rows);
std::vector<plan::parameter_declaration> reduction_parameters();
// Of the result, and of partial results: the same columns, but states in place of what functions of plugins give.
record::row_type result_type(const reduction& r);
record::row_type partial_type(const reduction& r);

// Whether a checked node is a reduce that can be done in two steps, exactly.
bool reduces_in_two_steps(const plan::graph& g, const plan::node& n);

enum class reduction_step : uint8_t {
  whole,
  parts,  // rows into partial results: a row, or none
  total,  // partial results into the result
};
exec::assembly build_reduction(exec::build_context& c, const reduction& r, reduction_step step);

}  // namespace flowrun::operators
