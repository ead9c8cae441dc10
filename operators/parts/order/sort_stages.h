// The two parts of a node that sorts: run creation as the sink of one pipeline, merging as the source of the next
// (decision D4). For sort, and for what is a sort underneath (shuffle, permute).
//
//   add_run_creation   prepare ─▶ run_creator
//   add_merge          run_merger ─▶ refine
//
// Where the job is verified (job_options::verify), prepare and refine count and hash the rows, and compare
// (engine/sort/conservation.h).
#pragma once

#include <cstdint>
#include <utility>

#include "engine/exec/operator_definition.h"
#include "engine/plan/node_checker.h"
#include "engine/sort/settings.h"
#include "operators/parts/rules/program.h"

namespace flowrun::operators {

// The rows that come are of settings.type. More than `most_rows` of them are error(bad_data).
void add_run_creation(exec::assembly& to, exec::build_context& c, sort::sort_settings settings,
                      runs::compression compress = runs::compression::none, uint64_t most_rows = UINT64_MAX);

// The head of the merging part: rows of settings.type in order. Slices may repeat each other's last row.
void add_merge(exec::assembly& to, exec::build_context& c, const sort::sort_settings& settings,
               runs::compression compress = runs::compression::none);

// Instead of both, where the rows come in order: a stage that looks at their order where the job is verified, else
// none.
void add_order_check(exec::assembly& to, exec::build_context& c, const sort::sort_settings& settings);

// The bytes that rows take while they are sorted: as words, or with 16 bytes of index for each row.
uint64_t bytes_to_sort(const record::row_type& type, bool indexed, const plan::row_estimate& estimate);

// The memory that a sort can use: twice the bytes of its rows (the run buffer has two halves), so that all rows stay in
// memory. Reads sort_facts::num_bytes.
plan::memory_wish sort_memory(const plan::node& n, plan::node_part part);

// --- sorting by a column that only the sort sees ---

// The columns of `type` and behind them one of values that the rows are sorted by; the name is no user's.
struct hidden_key {
  record::row_type type;
  sort::sort_settings settings;
};
hidden_key with_hidden_key(const record::row_type& type, record::value_type key);
// The name of that column.
std::string hidden_key_column();
// Facts for the planner: what is sorted is wider than the input.
void describe_hidden_key(plan::node_checker& node, const hidden_key& sorted);
// Drops it again.
exec::stage without_hidden_key(const hidden_key& sorted, record::batch_pool& pool);

}  // namespace flowrun::operators
