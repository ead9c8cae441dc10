// The one table of functions of the expression language: the checker looks names up here, and the reference page is
// printed from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flowrun::expr {

struct function_help {
  std::string name;
  std::string signature;  // "hash64(seed, x, …) → u64"
  std::string help;       // one sentence
};

// In the order of the reference page: casts, control, arithmetic, bits, random numbers and hashes, text.
const std::vector<function_help>& functions();

// Operators by falling precedence, in the same form (name "+", signature "a + b").
const std::vector<function_help>& operators();

// Aggregates, in the same form.
const std::vector<function_help>& aggregates();

}  // namespace flowrun::expr
