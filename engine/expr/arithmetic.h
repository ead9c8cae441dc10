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

}  // namespace flowrun::expr
