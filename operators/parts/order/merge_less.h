// merge with `less`: a condition over two rows, a and b, in place of columns.
#pragma once

#include <memory>

#include "engine/exec/operator_definition.h"

namespace flowrun::operators {

// The streams may have different columns; the output has those that all have.
void check_merge_less(plan::node_checker& node);
std::unique_ptr<exec::source> make_merge_less(exec::build_context& c);

}  // namespace flowrun::operators
