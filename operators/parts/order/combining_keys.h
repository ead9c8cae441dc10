// The keys of a sort that combines: columns, or expressions with a name of their own, `{day: "date_trunc('day', t)"}`.
//
// Behind them a sort that counts different values has the value that it counts: its rows come out with equal values
// next to each other, so that the changes can be counted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/plan/node_checker.h"
#include "operators/parts/order/aggregation.h"

namespace flowrun::operators {

// Whether the key is a column as it is: with that column's name, or with one that it was given.
bool is_whole_column(const plan::sort_key& key);
// As it is called in the output; empty: it has no name.
std::string name_of(const plan::sort_key& key);

// What count_distinct counts; null: there is none.
const expr::expression* distinct_value(const named_aggregates& aggregates);

// Faults for keys without a name, for names that are taken, and for aggregates that can't go together.
void check_combining_keys(plan::node_checker& node, const std::vector<plan::sort_key>& keys,
                          const named_aggregates& aggregates);
// Faults for keys that have a name where nothing is combined.
void refuse_named_keys(plan::node_checker& node, const std::vector<plan::sort_key>& keys);

// The keys by the names that they come out under.
named_expressions key_expressions(const std::vector<plan::sort_key>& keys);
std::vector<record::column> key_columns(const std::vector<plan::sort_key>& keys);

}  // namespace flowrun::operators
