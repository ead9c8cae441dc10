// A sort that combines: one row of each key, made on the way.
//
// The rows that are sorted are partial results: the keys, then for each aggregate what one row contributes (count: 1;
// sum: the value, widened; others: the value). The sort adds them up wherever equal keys meet
// (engine/sort/row_combiner.h), and group stages behind it combine what is left. So scratch holds each key once per
// run, and columns that no aggregate wants never get there.
//
// What one row contributes to an aggregate of a plugin is the state that has seen this row only, as bytes[N].
//
// count_distinct(x) makes x a key behind the others: the rows that are sorted have each value of a key once, and the
// group stages count the values, as they add up the other aggregates.
//
// Not all aggregates can be taken apart: sums of floats depend on the order in which they are added, texts of any
// length have no place of their own in a row, and plugins say which of theirs can. Nor is it worth it when partial
// results are much wider than the rows. Then the rows are sorted as they are and grouped behind the sort.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/sort/row_combiner.h"
#include "operators/parts/order/aggregation.h"

namespace flowrun::operators {

struct partial_results {
  named_expressions projection;  // from the input: the keys, then what it contributes to the aggregates
  record::row_type type;
  std::vector<column_aggregate> totals;  // of partial results
  std::shared_ptr<const sort::row_combiner> combiner;
};

// So many rows leave room in sums: with a key of four bytes and a count, eight bytes are sorted instead of twelve.
constexpr uint64_t few_rows = 0xFFFF'FFFF;

// `keys`: over the input; where an aggregate counts different values, the last one is that value. `few`: there are at
// most few_rows rows. nullopt: group behind the sort.
std::optional<partial_results> plan_partial_results(const record::row_type& input, const named_expressions& keys,
                                                    const named_aggregates& aggregates, bool few);

}  // namespace flowrun::operators
