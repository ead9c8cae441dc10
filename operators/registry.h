// The words of the job language. Each operator's file defines one function below; registry.cc lists them.
#pragma once

#include <vector>

#include "engine/exec/operator_definition.h"
#include "engine/plan/graph.h"

namespace flowrun::operators {

const exec::operator_definition& call_operator();
const exec::operator_definition& check_operator();
const exec::operator_definition& concat_operator();
const exec::operator_definition& file_read_csv_operator();
const exec::operator_definition& file_read_lines_operator();
const exec::operator_definition& file_read_rows_operator();
const exec::operator_definition& file_write_csv_operator();
const exec::operator_definition& file_write_lines_operator();
const exec::operator_definition& file_write_rows_operator();
const exec::operator_definition& filter_operator();
const exec::operator_definition& flat_map_operator();
const exec::operator_definition& generate_operator();
const exec::operator_definition& group_operator();
const exec::operator_definition& group_pairs_operator();
const exec::operator_definition& if_operator();
const exec::operator_definition& join_operator();
const exec::operator_definition& lookup_operator();
const exec::operator_definition& loop_operator();
const exec::operator_definition& map_operator();
const exec::operator_definition& merge_operator();
const exec::operator_definition& partition_operator();
const exec::operator_definition& permute_operator();
const exec::operator_definition& pq_scan_operator();
const exec::operator_definition& reduce_operator();
const exec::operator_definition& reverse_operator();
const exec::operator_definition& scan_operator();
const exec::operator_definition& shuffle_operator();
const exec::operator_definition& sort_operator();
const exec::operator_definition& split_operator();
const exec::operator_definition& suffix_sort_operator();
const exec::operator_definition& tokens_operator();
const exec::operator_definition& union_find_operator();
const exec::operator_definition& window_operator();
const exec::operator_definition& zip_operator();

// All of them, by name.
std::vector<const exec::operator_definition*> built_in_operators();

// The catalog that a job is checked against.
plan::operator_catalog built_in_catalog();

// Null when there is no such operator.
const exec::operator_definition* find_operator(const std::string& name);

}  // namespace flowrun::operators
