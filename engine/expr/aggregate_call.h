// A call of an outside aggregate as expressions have it: checked, bound, its arguments converted.
#pragma once

#include <variant>
#include <vector>

#include "engine/expr/aggregate.h"

namespace flowrun::expr {

std::variant<aggregate_call, binding_fault> make_aggregate_call(const outside_aggregate& function,
                                                                std::vector<expression> given);

}  // namespace flowrun::expr
