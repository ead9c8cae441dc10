// What to write to make a value of one type a value of another: advice that is accepted when it is followed.
#pragma once

#include <string>
#include <string_view>

#include "engine/expr/expression.h"

namespace flowrun::expr {

// The expression that makes `text`, of type `from`, a value of type `to`: "to_u64(k)", "i32(k)", "string(k)", "k != 0",
// "k[0:4]". Empty where no expression does.
std::string converted_text(std::string_view text, record::value_type from, record::value_type to);

// What maps have to have so that columns `a` and `b` of two inputs get one type, which keeps the values of both where
// there is one: "b: to_u64(b)".
struct one_type {
  std::string columns;
  bool of_a = false, of_b = false;  // whose map has them
};
one_type one_type_of(std::string_view a, record::value_type type_of_a, std::string_view b,
                     record::value_type type_of_b);

// For a value `other` that would lose some of it as the type of `first`, which came before: how `first` gets a type
// that holds both, "write f64(0) in `state`", with `place` for where it stands. Empty where that doesn't help.
std::string widening_hint(const expression& first, const expression& other, std::string_view place);

// The function that reads texts as numbers like `number`, also those with a fraction where it is written in the text.
std::string_view reader_of_numbers(const node& number);

// Why a value can't stand where `to` is wanted (expression::converted_to gives nothing), and what to write.
problem conversion_problem(const expression& value, record::value_type to);

}  // namespace flowrun::expr
