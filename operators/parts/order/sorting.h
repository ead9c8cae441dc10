// A sort: what its parameters mean, which rows it sorts, and its two parts. For sort, and for the steps in which the
// tasks of a cluster do one that combines.
//
//   [hidden key columns, or partial results] ─▶ run creation
//   merging ─▶ [combine, limit]
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/exec/operator_definition.h"
#include "engine/plan/node_checker.h"
#include "engine/sort/settings.h"
#include "operators/parts/order/sort_combine.h"

namespace flowrun::operators {

struct sorting {
  std::vector<plan::sort_key> keys;
  bool unique = false;
  bool stable = false;
  bool long_runs = false;
  runs::compression compress = runs::compression::none;
  uint64_t limit = 0;
  named_aggregates combine;
  bool few = false;  // there are at most few_rows
  void bind(const expr::scalar_values& values) { expr::bind_all(values, keys, combine); }
};

std::vector<plan::parameter_declaration> sorting_parameters();
// The parameters of a node, over rows of this type; `few`: of which there are at most few_rows. Reports what is wrong.
sorting read_sorting(plan::node_checker& node, const record::row_type& rows, bool few);

// The rows that are sorted: the input's columns and the hidden keys, or partial results.
struct sorted_rows {
  named_expressions projection;  // empty: the input as it is
  record::row_type type;
  record::key key;
  std::vector<std::string> columns;  // that hold the keys; of rows that are combined behind the sort
  std::optional<partial_results> partial;
};

sorted_rows plan_rows(const record::row_type& input, const sorting& s);

// What comes out is sorted by, and an input that is sorted already; empty: there is no name for that.
plan::order order_of(const sorting& s);
plan::order order_of_input(const record::row_type& input, const sorting& s);

// Of run creation, where the limit counts combined rows, which come out of the merge only; and of the merge.
sort::sort_settings creator_settings(const sorting& s, const sorted_rows& rows);
sort::sort_settings merger_settings(const sorting& s, const sorted_rows& rows);

// For the planner.
void note_sort_facts(plan::node_checker& node, const sorting& s, const sorted_rows& rows);

// The parts of the node.
exec::assembly build_run_creation(exec::build_context& c, const sorting& s, const sorted_rows& rows);
// Behind the merge, or rows that come in order: equal keys become one row, of which `limit` are let through.
void add_combining(exec::assembly& to, exec::build_context& c, const sorting& s, const sorted_rows& rows);

// --- in two steps, as the tasks of a cluster do a sort that combines ---

// The rows that are sorted, however many there are: partial results, which tasks combine as far as they meet. nullopt:
// the sort combines nothing, or its results can't be taken apart, or it counts different values.
std::optional<sorted_rows> partial_rows(const record::row_type& input, const sorting& s);
// What these are sorted by.
plan::order order_of_partial_rows(const sorted_rows& rows, const sorting& s);
// Of a checked node of the graph; nullopt also where it isn't a sort that can be done so.
std::optional<sorted_rows> partial_rows(const plan::graph& g, const plan::node& n);

}  // namespace flowrun::operators
