// Constants as numbers on paper.
//
// A literal has no type of its own: what + - * / % & | ^ << >>, a sign, min, max and abs make of literals is the exact
// number, and is a literal again. It is u64, or i64 below 0, where nothing else decides. A constant with a type (a
// cast, and what is computed with it) stays in that type. A constant that the type doesn't hold is a fault, never
// another number. Scalars of loops and graphs are no constants in this sense: their values come with the run.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/expr/node.h"

namespace flowrun::expr {

__extension__ typedef __int128 exact_number;  // "using" would not silence -Wpedantic

// An integer whose value the check knows.
bool is_known_integer(const node& n);
exact_number exact_value(const node& n);

// The least and the largest number of an integer type.
exact_number least(record::value_type type);
exact_number most(record::value_type type);
bool holds(record::value_type type, exact_number value);
// "0 to 255".
std::string range_of(record::value_type type);

// Null when neither u64 nor i64 holds it.
node_ptr literal_node(exact_number value);

// `op` is one of + - * / % <<; nullopt beyond 127 bits. x / 0 and x % 0 are 0, and so is a shift by 64 or more, or by a
// negative number.
std::optional<exact_number> exact_result(std::string_view op, exact_number a, exact_number b);

// Why a number known while checking can't be of a number type: "300 does not fit in u8". Empty when it can, and for all
// values that are not known.
struct misfit {
  std::string message, expected, hint;
};
std::optional<misfit> misfit_of(const node& value, record::value_type type);

// Why an operator can't be made of two values: argument 0 or 1 is at fault.
struct operand_fault {
  int argument = 0;
  std::string message, expected, hint;
};

}  // namespace flowrun::expr
