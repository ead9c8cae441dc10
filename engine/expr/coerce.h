// The typing rules between values: what arithmetic gives, how values of different types meet, casts, comparisons.
// Everything returns null where the rules say no; the caller words the problem.
#pragma once

#include <string_view>
#include <vector>

#include "engine/expr/node.h"

namespace flowrun::expr {

// How a value lies in a register.
enum class lane_kind { unsigned_integer, signed_integer, real, boolean, text };

lane_kind lane_kind_of(record::value_type type);
// u64, i64, f64, bool or string.
record::value_type wide_type(lane_kind kind);

// Numbers meet: f64 with a float on either side; else u64 if both are unsigned, else i64. A literal follows the others.
lane_kind arithmetic_kind(const std::vector<node_ptr>& values);
node_ptr to_real(const node_ptr& value);
// A number as a lane of `kind` (from arithmetic_kind, so no narrowing).
node_ptr to_kind(const node_ptr& value, lane_kind kind);

// Brings values to one type in place: the same type stays, numbers meet as above, a text literal of N bytes becomes
// bytes[N] beside bytes[N], other texts become string. False when they have nothing in common.
bool unify(std::vector<node_ptr>& values);

// The explicit cast; null from text to numbers and bool, and to bytes[N].
node_ptr cast(const node_ptr& value, record::value_type type);
// The cast that needs no word: see expression::converted_to.
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
