// The typed tree behind an expression. Checked and lowered: every node is one primitive of ops.h, conversions are
// explicit nodes, constants are folded, tuples and chains are gone. Nodes are immutable and may be shared between
// trees.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/expr/ops.h"
#include "engine/record/value_type.h"

namespace flowrun::expr {

struct node;
struct outside_call;
using node_ptr = std::shared_ptr<const node>;

struct node {
  opcode op = opcode::constant;
  record::value_type type;
  std::vector<node_ptr> args;
  // constant: the lane. column, state: the index. cut: from << 32 | length. Else the primitive's immediate.
  uint64_t imm = 0;
  std::string text;                          // text_constant: the text; neighbour: the column's name; scalar: its name
  int distance = 0;                          // neighbour
  std::shared_ptr<const outside_call> call;  // outside_number, outside_text
  // A number without a type of its own, u64 or (below 0) i64 while it is alone: an integer literal, or what operators
  // make of literals (exact.h). A text literal: may become bytes[N].
  bool literal = false;
  // These are facts of the whole tree below.
  bool constant = true;
  bool known =
      true;  // a constant whose value can be judged: no scalar of a loop or graph, which changes from run to run
  bool uses_row_number = false;
  bool uses_state = false;

  bool is_number_constant() const { return op == opcode::constant; }
};

node_ptr number_node(record::value_type type, uint64_t lane, bool literal = false);
// The value of a scalar of a loop or graph, among constants: folded, and not judged.
node_ptr scalar_node(record::value_type type, uint64_t lane);
// The same among columns: not folded with others, so that a tree reads the same columns for every value.
node_ptr varying_number_node(record::value_type type, uint64_t lane);
node_ptr text_node(std::string text);
node_ptr column_node(size_t column, record::value_type type);
node_ptr neighbour_node(std::string column, int distance, record::value_type type);
node_ptr row_number_node();
node_ptr state_node(size_t index, record::value_type type);
// A primitive; folded when all operands are constants.
node_ptr op_node(opcode op, record::value_type type, std::vector<node_ptr> args, uint64_t imm = 0);
// A call of an outside function that is bound (outside_call.h); folded when all arguments are constants.
node_ptr call_node(std::shared_ptr<const outside_call> call, record::value_type type, std::vector<node_ptr> args);
// The same value under another type.
node_ptr retype_node(node_ptr value, record::value_type type);

}  // namespace flowrun::expr
