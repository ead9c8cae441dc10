// Bytes of a text by their positions: x[position] and x[from:to].
#pragma once

#include <vector>

#include "engine/expr/expression.h"
#include "engine/expr/node.h"
#include "engine/expr/parser.h"

namespace flowrun::expr {

// Of `s`, an index or a slice, from its parts: those that are checked, or null where a part is wrong or isn't written.
// Null when `problems` has grown, or a part is wrong.
node_ptr byte_at_node(const syntax& s, const node_ptr& text, const node_ptr& position, std::vector<problem>& problems);
node_ptr slice_node(const syntax& s, const node_ptr& text, const node_ptr& from, const node_ptr& to,
                    std::vector<problem>& problems);

}  // namespace flowrun::expr
