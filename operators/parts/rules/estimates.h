// How many rows and bytes a node's output has, from what is known of its input.
#pragma once

#include "engine/plan/graph.h"
#include "engine/record/row_type.h"

namespace flowrun::operators {

// As many rows as `input` has, with the columns of `to` instead of `from`. Strings are taken to stay as long as they
// are, and those that come on top to be short.
plan::row_estimate with_type(const plan::row_estimate& input, const record::row_type& from, const record::row_type& to);

// No more rows than `input` has.
plan::row_estimate at_most(plan::row_estimate input);

// The rows of both.
plan::row_estimate sum(const plan::row_estimate& a, const plan::row_estimate& b);

// Exactly this many rows of a type; strings are unknown and count nothing.
plan::row_estimate exactly(uint64_t rows, const record::row_type& type);

}  // namespace flowrun::operators
