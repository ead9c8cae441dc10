// How many rows and bytes a node's output has, from what is known of its input.
#pragma once

#include <string_view>

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

// `factor` rows for each.
plan::row_estimate times(plan::row_estimate input, uint64_t factor);

// Only the first `limit` rows of `type`, of which `input` may have more.
plan::row_estimate limited(plan::row_estimate input, uint64_t limit, const record::row_type& type);

// All but the first `skip` rows of `type`.
plan::row_estimate skipped(plan::row_estimate input, uint64_t skip, const record::row_type& type);

// Records of a text that is looked at: `total_bytes` of text of which `sample` is the beginning. A record ends with
// `line_end` and has at least `least_record_bytes`; the rows have `type`, and their strings are cut from the text.
plan::row_estimate of_text(uint64_t total_bytes, std::string_view sample, char line_end, uint64_t least_record_bytes,
                           const record::row_type& type);

}  // namespace flowrun::operators
