// A row whose columns are given as constants: what stands beyond the ends of a window, or for a key that isn't there.
#pragma once

#include <string>

#include "engine/plan/node_checker.h"
#include "engine/record/batch.h"
#include "operators/parts/rules/program.h"

namespace flowrun::operators {

// A parameter {column: constant} about columns of `type`, converted to their types; faults for anything else. `owner`
// is whose columns they are, for messages.
named_expressions read_constants(plan::node_checker& node, const std::string& parameter, const record::row_type& type,
                                 const std::string& owner);

// One row; columns that `constants` doesn't name are 0 or empty.
record::batch constant_row(const record::row_type& type, const named_expressions& constants, record::batch_pool& pool);

}  // namespace flowrun::operators
