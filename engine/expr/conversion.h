// What to write to make a value of one type a value of another: advice that is accepted when it is followed.
#pragma once

#include <string>
#include <string_view>

#include "engine/expr/expression.h"

namespace flowrun::expr {

// The expression that makes `text`, of type `from`, a value of type `to`: "to_u64(k)", "i32(k)", "string(k)", "k != 0",
// "k[0:4]". Empty where no expression does.
std::string converted_text(std::string_view text, record::value_type from, record::value_type to);

// What a map has to have so that columns `a` and `b` get one type: "b: to_u64(b)".
std::string one_type_text(std::string_view a, record::value_type type_of_a, std::string_view b,
                          record::value_type type_of_b);

// Why a value can't stand where `to` is wanted (expression::converted_to gives nothing), and what to write.
problem conversion_problem(const expression& value, record::value_type to);

}  // namespace flowrun::expr
