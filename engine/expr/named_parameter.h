// params.NAME in an expression: which parameter of the job it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/expr/expression.h"
#include "engine/expr/node.h"

namespace flowrun::expr {

constexpr std::string_view parameters_name = "params";

// Neither: something else that is known here has names that begin so (a column, a node under scalars:), and there is no
// such parameter.
struct named_parameter {
  node_ptr value;
  std::optional<problem> why;  // why there is no value
};
// `known`: all other names that mean something here.
named_parameter find_parameter(const std::vector<parameter>& parameters, const std::string& name,
                               const std::vector<std::string>& known);

// What is wrong with naming the parameter `name` in an expression, where a '-' in it makes it a difference; nullopt:
// there is none of that name, or it has no '-'.
std::optional<problem> parameter_with_minus(const std::vector<parameter>& parameters, const std::string& name);

// For a name that means nothing here and may be a parameter's. Empty: it is none. `parameters` may be null.
std::string parameter_hint(const std::vector<parameter>* parameters, const std::string& name);

}  // namespace flowrun::expr
