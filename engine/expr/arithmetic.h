// What + - * / % & | ^ << >> make of two numbers. Times and decimals have rules of their own (times.h, decimals.h).
#pragma once

#include <string>
#include <vector>

#include "engine/expr/expression.h"
#include "engine/expr/node.h"

namespace flowrun::expr {

// Null, with a problem at `offset`, where no type holds the result.
node_ptr number_arithmetic(const std::string& op, size_t offset, const node_ptr& a, const node_ptr& b,
                           std::vector<problem>& problems);

// a - b of unsigned numbers, which is not below 0 where it should be, but wraps around. What is asked of its sign is a
// mistake that nobody would see.
bool is_unsigned_difference(const node& n);
// Whether a comparison asks if such a difference, on either side, is above or below 0.
bool asks_for_sign(const std::string& op, const node& a, const node& b);
inline constexpr const char* unsigned_difference = "a difference of unsigned numbers is never below 0: it wraps around";
inline constexpr const char* signed_difference_hint = "write i64(a) - i64(b) for signed numbers, or compare a and b";

}  // namespace flowrun::expr
