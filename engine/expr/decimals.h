// Decimals in expressions: literals and constant texts that become decimals, the operators, comparisons and conversions
// of decimals. What they compute is in decimal_lane.h.
//
// A literal with a point is an f64 that remembers its digits (node.h, `text`): beside a decimal it is the decimal that
// they spell. Values of different scale are brought to the larger one by products of integers; comparisons are exact
// without that.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engine/expr/exact.h"
#include "engine/expr/node.h"

namespace flowrun::expr {

// A literal with a point, as it was written.
node_ptr real_literal_node(double value, std::string_view text);
// The same of a text that may have a sign; `value` has it, too.
node_ptr signed_real_node(double value, std::string_view text);
// The same number with what + - and * make of the digits of two literals, if both have any: 1 + 0.19 is 1.19.
node_ptr with_exact_digits(std::string_view op, const node_ptr& a, const node_ptr& b, node_ptr result);

// A decimal as it is; an integer as a decimal without digits behind the point; a literal with a point and a constant
// text as the decimal that they spell. Null for everything else, and where that doesn't fit.
node_ptr exact_decimal(const node_ptr& value);

// The value as a decimal of this scale, where no digit is lost; of a constant, none that is not 0. Null otherwise.
node_ptr as_decimal(const node_ptr& value, record::value_type type);
// The value with this many digits behind the point, rounded (halves away from zero) where there were more. Null for
// texts that are no constants, and where a constant is beyond the range.
node_ptr to_scale(const node_ptr& value, uint32_t scale);
// The same number as the f64 next to it.
node_ptr decimal_to_real(const node_ptr& value);

// Why a constant can't be of a decimal type: "'12.505' does not fit in decimal[2]: it has 3 digits behind the point".
// Empty for everything else.
std::optional<misfit> decimal_misfit(const node& value, record::value_type type);

// Brings values of which one is a decimal to one type in place: the largest scale, or f64 beside floats. False when
// they have nothing in common.
bool unify_decimals(std::vector<node_ptr>& values);

// `op` is == != < or <=; of two values of which one is a decimal. Null when they can't be compared.
node_ptr compare_decimals(std::string_view op, const node_ptr& a, const node_ptr& b);
// What says why.
operand_fault incomparable_decimals(const node_ptr& a, const node_ptr& b);
// `op` is any binary operator but comparisons, and and or. Null with a fault.
node_ptr decimal_arithmetic(std::string_view op, const node_ptr& a, const node_ptr& b, operand_fault& fault);
node_ptr negative_decimal(const node_ptr& value);  // null beyond the range

// What to write where another type is wanted, and a decimal is given.
constexpr std::string_view integer_of_decimal_hint = "write i64(x)";

}  // namespace flowrun::expr
