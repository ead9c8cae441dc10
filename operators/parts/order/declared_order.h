// The parameter `sorted_by` of a source: an order that its files are said to have, and that is checked while they are
// read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/exec/operator.h"
#include "engine/plan/node_checker.h"
#include "engine/plan/operator_declaration.h"
#include "engine/plan/order.h"
#include "engine/record/row_type.h"

namespace flowrun::operators {

plan::parameter_declaration declared_order_parameter();

// Reads it for rows of `type`; reports what is wrong. Empty: none is declared.
plan::order read_declared_order(plan::node_checker& node, const record::row_type& type);

// Ends the job at the first row that comes before its predecessor.
std::unique_ptr<exec::ordered_stage> make_order_check(const record::row_type& type, const plan::order& sorted_by,
                                                      const std::vector<std::string>& paths);

}  // namespace flowrun::operators
