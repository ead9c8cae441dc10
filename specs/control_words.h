// The operators that the grammar knows, because nodes stand inside them: their bodies are read as nodes, not as
// parameters. To every other operator a key `body:` under with: is what the operator takes it for (a map: a column).
//
//   levels: {op: loop, in: {edges: drawn}, with: {carry: {cur: …}, body: {NODE: {op: …, in: cur}, …}, …}}
//   some:   {op: if, in: {rows: drawn}, with: {condition: …, then: {NODE: …}, else: {NODE: …}, …}}
//
// Nodes of a body read each other, and the names that the control node brings: its inputs, by the names that `in:`
// gives them or else by those of the nodes they come from, and what a loop carries.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flowrun::specs {

struct control_word {
  std::string_view op;
  std::vector<std::string_view> bodies;  // keys under `with:` that hold nodes; a node has one of them at least
  std::string_view carried;              // key under `with:` whose keys are streams (and numbers) inside; empty: none
};

// Null for an operator without bodies.
const control_word* find_control_word(std::string_view op);

}  // namespace flowrun::specs
