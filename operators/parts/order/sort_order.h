// Sort keys of operators that read sorted streams (merge, check): columns, or slices of bytes columns.
#pragma once

#include <string>

#include "engine/plan/node_checker.h"

namespace flowrun::operators {

// The keys of a sort_keys parameter as an order of input 0; a fault for each that is neither a column nor a slice of
// one.
plan::order order_parameter(plan::node_checker& node, const std::string& name);

// Faults for inputs whose row type differs from the first input's.
void require_equal_types(plan::node_checker& node);

}  // namespace flowrun::operators
