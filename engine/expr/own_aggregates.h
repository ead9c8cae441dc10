// The aggregates of the language that are states (outside_aggregate.h), beside those that aggregate.h has kinds for.
#pragma once

#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/expr/outside_aggregate.h"

namespace flowrun::expr {

struct own_aggregate {
  std::string_view name, signature, help;
  size_t min_args, max_args;
  std::variant<aggregate_binding, binding_fault> (*bind)(const std::vector<given_argument>& args);
};

// Null when there is none.
const outside_aggregate* find_own_aggregate(std::string_view name);
// What is said of them, in the order of the reference page.
const std::vector<function_help>& own_aggregates();

// sum, of decimals.
const outside_aggregate& decimal_sum();

std::span<const own_aggregate> moment_aggregates();    // avg, variance, stddev
std::span<const own_aggregate> distinct_aggregates();  // approx_count_distinct
std::span<const own_aggregate> quantile_aggregates();  // approx_quantile

}  // namespace flowrun::expr
