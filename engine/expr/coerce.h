// The typing rules between values: what arithmetic gives, how values of different types meet, casts, comparisons.
// Everything returns null where the rules say no; the caller words the problem.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/expr/node.h"

namespace flowrun::expr {

// How a value lies in a register.
enum class lane_kind { unsigned_integer, signed_integer, real, boolean, text, date, timestamp, decimal };

lane_kind lane_kind_of(record::value_type type);
// u64, i64, f64, bool, string, date or timestamp; decimals are as wide as they get.
record::value_type wide_type(lane_kind kind);

// The type that two numbers meet in: f64 with a float on either side; else u64 if all are unsigned; else i64, which
// holds all narrower unsigned types, and constants that fit. For u64 beside a signed type there is none (nullopt),
// unless all that is signed are constants that u64 holds.
std::optional<lane_kind> common_kind(const std::vector<node_ptr>& values);
// What to write where there is no common kind.
std::string common_kind_hint(const std::vector<node_ptr>& values);
// A number or a decimal.
node_ptr to_real(const node_ptr& value);
// A number as a lane of `kind` (from common_kind, so no narrowing).
node_ptr to_kind(const node_ptr& value, lane_kind kind);

// Brings values to one type in place: the same type stays, numbers meet as above, a text literal of N bytes becomes
// bytes[N] beside bytes[N], other texts become string, a constant text beside times becomes a time, and decimals meet
// as decimals.h says. False when they have nothing in common.
bool unify(std::vector<node_ptr>& values);

// The smaller or larger of two numbers of which one is u64 and the other signed, by value: a minimum is i64, a maximum
// u64, which hold it always.
node_ptr mixed_extreme(bool largest, const node_ptr& of_unsigned, const node_ptr& of_signed);

// The explicit cast; null from text to numbers and bool, and to bytes[N]. The caller looks for a misfit (exact.h).
node_ptr cast(const node_ptr& value, record::value_type type);
// The cast that needs no word: see expression::converted_to. Null also where a known number doesn't fit.
node_ptr convert(const node_ptr& value, record::value_type type);
// Any value as string.
node_ptr as_text(const node_ptr& value);

node_ptr not_node(const node_ptr& condition);
node_ptr and_node(const node_ptr& a, const node_ptr& b);
node_ptr or_node(const node_ptr& a, const node_ptr& b);
// `op` is one of == != < <= > >=; bool. Null when a and b can't be compared.
node_ptr compare(std::string_view op, const node_ptr& a, const node_ptr& b);
// (a0, a1, …) op (b0, b1, …), lexicographically; equally long, not empty.
node_ptr compare_tuples(std::string_view op, const std::vector<node_ptr>& a, const std::vector<node_ptr>& b);

}  // namespace flowrun::expr
