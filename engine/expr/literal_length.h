// bytes[N] compared with a constant text of another length: never equal, so surely not meant.
#pragma once

#include <optional>
#include <string_view>

#include "engine/expr/exact.h"
#include "engine/expr/node.h"

namespace flowrun::expr {

// Why `op` of a and b has one answer for all rows; nothing where it may have two, and for other operators than == and
// !=.
std::optional<operand_fault> never_equal(std::string_view op, const node_ptr& a, const node_ptr& b);

}  // namespace flowrun::expr
