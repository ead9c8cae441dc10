// What the table of functions is made of. Each family of functions has a file with a part of it; functions.cc puts them
// together.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/expr/checker.h"
#include "engine/expr/outside_function.h"

namespace flowrun::expr {

struct function {
  std::string_view name, signature, help;
  size_t min_args, max_args;
  // Lowers a call to primitives; null, with a problem, where it is wrong.
  node_ptr (*build)(const call_site& site);
  // Instead of `build`: binds a call that keeps what it makes of its constants (outside_function.h).
  std::variant<binding, binding_fault> (*bind)(const std::vector<given_argument>& args) = nullptr;
};

std::span<const function> real_functions();
std::span<const function> text_functions();
std::span<const function> time_functions();
std::span<const function> decimal_functions();
std::span<const function> regular_expression_functions();

// A call of a function that is bound, with its problems.
node_ptr bound_call_of(const outside_function& function, const call_site& site);
// regex_matches of two arguments, with its problems.
node_ptr regex_matches_call(const call_site& site);
// Reports that the values, the last arguments, have no type in common; at argument `at` where none is more to blame.
node_ptr no_common_type(const call_site& s, size_t at, const std::vector<node_ptr>& values);

enum class rounding { nearest, toward_zero, down, up };
// What round, trunc, floor and ceil make of a decimal, argument 0; argument 1, if there is one, says how many digits
// stay behind the point.
node_ptr rounded_decimal(const call_site& s, rounding how);
// What abs makes of one; the least has none, and ends the job.
node_ptr absolute_decimal(const call_site& s);

// Arguments of functions that are bound. Each returns the fault, if there is one.
std::optional<binding_fault> text_needed(const std::vector<given_argument>& args, size_t i);
std::optional<binding_fault> integer_needed(const std::vector<given_argument>& args, size_t i);
// What a call is bound to while a constant has no value yet; it never runs.
std::shared_ptr<const bound_call> call_without_value();

}  // namespace flowrun::expr
