// x in (a, b, c): whether one of several comparisons holds.
#pragma once

#include <vector>

#include "engine/expr/node.h"

namespace flowrun::expr {

// `equalities` are of coerce.h's compare("==", …), and not empty. Those of one value with constants cost less together
// than one by one: numbers that are close to each other become the bits of a word, and what is many a table, whose look
// is a call (outside_call.h).
node_ptr one_holds(const std::vector<node_ptr>& equalities);

}  // namespace flowrun::expr
