// From a syntax tree to a typed tree: resolves names, checks types, lowers to primitives. All problems of a text are
// collected, not only the first.
#pragma once

#include <limits>
#include <vector>

#include "engine/expr/expression.h"
#include "engine/expr/functions.h"
#include "engine/expr/node.h"
#include "engine/expr/parser.h"

namespace flowrun::expr {

// Null when `problems` has grown.
node_ptr check(const syntax& tree, const scope& names, std::vector<problem>& problems);

// A call whose arguments are checked, for the functions of the table (functions.cc).
struct call_site {
  const syntax& call;
  std::vector<node_ptr> args;
  std::vector<problem>& problems;

  // Reports a problem at argument `i` and returns null.
  node_ptr fault(size_t i, std::string message, std::string expected = {}, std::string hint = {}) const;
  bool require_integer(size_t i) const;
  bool require_signed(size_t i) const;  // an integer that is below 0 at times
  bool require_number(size_t i) const;
  bool require_real(size_t i) const;  // a number or a decimal, for to_real (coerce.h)
  bool require_text(size_t i) const;
};

// Reports a problem where a call has fewer or more arguments than it may have.
bool require_count(const call_site& site, const function_help& f, size_t min_args, size_t max_args);
constexpr size_t any_number = std::numeric_limits<size_t>::max();  // of arguments

// Null when there is no such function; otherwise builds the call or reports problems and sets `result` to null.
bool build_call(call_site& site, node_ptr& result);

}  // namespace flowrun::expr
