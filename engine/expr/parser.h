// The grammar, with the precedence of Python. From loose to tight:
//
//   expression  = or ;                      or = and { "or" and } ;       and = not { "and" not } ;
//   not         = "not" not | comparison ;  comparison = bits [ ("==" | "!=" | "<" | "<=" | ">" | ">=") bits | relation
//   ] ; relation    = [ "not" ] ( "in" "(" list ")" | "like" bits | "between" bits "and" bits ) ; bits        = xor {
//   "|" xor } ;         xor = mask { "^" mask } ;     mask = shift { "&" shift } ; shift       = sum { ("<<" | ">>")
//   sum } ;                             sum = term { ("+" | "-") term } ; term        = sign { ("*" | "/" | "%") sign }
//   ;                       sign = ("-" | "+" | "~") sign | postfix ; postfix     = atom { "[" expression "]" | "[" [
//   expression ] ":" [ expression ] "]" | "." name } ; atom        = literal | name | name "(" [ list ] ")" | "("
//   expression ")" | "(" list ")"     (a tuple)
//
// Comparisons do not chain. "in", "like" and "between" mean something only behind a value, where no name can stand: a
// column may be called so. Trees are at most max_tree_depth deep and parentheses nest at most max_nesting deep, so
// that no text can exhaust the stack of this parser or of what walks the tree later.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/expr/expression.h"

namespace flowrun::expr {

constexpr int max_nesting = 200;
constexpr int max_tree_depth = 500;

enum class syntax_kind {
  nothing,  // a place where a problem was reported, or a bound that was left out
  integer,
  real,
  text,
  name,
  call,     // text(children…)
  unary,    // text child
  binary,   // child text child
  among,    // child in (children…)
  between,  // child between child and child
  tuple,    // (a, b, …)
  index,    // child[child]
  slice,    // child[child:child]; bounds may be `nothing`
  member,   // child.text
};

struct syntax {
  syntax_kind kind = syntax_kind::nothing;
  size_t offset = 0;  // of the operator or the name: where a problem with this node is shown
  size_t first = 0;   // of its leftmost token
  std::string text;
  uint64_t integer = 0;
  std::vector<std::unique_ptr<syntax>> children;
  int depth = 1;
};

// Null when a problem was reported at the top. Problems are appended; after one, parsing stops.
std::unique_ptr<syntax> parse(std::string_view text, std::vector<problem>& problems);

}  // namespace flowrun::expr
