// Dates and timestamps in expressions: constant texts that become times, and the operators + and - of times. The
// functions of times are in time_functions.cc, what they compute in time_lane.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/expr/exact.h"
#include "engine/expr/node.h"

namespace flowrun::expr {

// A constant text as the time that it says; every other value, and a text that says none, as it is.
node_ptr as_time(const node_ptr& value, record::value_type type);

// Why a constant text can't be of a type of times: "'2026-02-29' is no date: February 2026 has 28 days". Empty for
// everything else.
std::optional<misfit> time_misfit(const node& value, record::value_type type);

// An integer as an i64, of which what is beyond is the most.
node_ptr as_count(const node_ptr& value);

// What to write where a number or a condition is wanted, and a time is given.
std::string_view number_of_time_hint(record::value_type type);

// Of two values of which one is a time. `op` is any binary operator but comparisons, and and or. Null with a fault.
node_ptr time_arithmetic(std::string_view op, const node_ptr& a, const node_ptr& b, operand_fault& fault);
// What says why two values, of which one is a time, have no order and no common type.
operand_fault incomparable_times(const node_ptr& a, const node_ptr& b);

}  // namespace flowrun::expr
