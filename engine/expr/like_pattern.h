// text like 'a%b_': the patterns of SQL.
#pragma once

#include "engine/expr/checker.h"

namespace flowrun::expr {

// Argument 0 is the text, argument 1 the pattern, a constant. Null, with a problem, where it is wrong.
node_ptr like_node(const call_site& s);

}  // namespace flowrun::expr
