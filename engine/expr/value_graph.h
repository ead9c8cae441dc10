// The values of a program, each computed once: trees of several expressions merged by hash consing.
//
// Ids are topological: operands have smaller ids. A chain of maps is built by substitution (a column of a later step is
// the id that an earlier step gave it), so the graph knows input columns only. Divisions by constants become
// multiplications or shifts here.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/expr/node.h"
#include "engine/record/row_type.h"

namespace flowrun::expr {

using value_id = uint32_t;

struct value {
  // A leaf (constant, text_constant, column, row_number, state) or a primitive.
  opcode op = opcode::constant;
  std::vector<value_id> args;
  uint64_t imm = 0;   // as in node
  uint64_t imm2 = 0;  // second immediate of a primitive
  std::string text;   // of a text_constant
  bool is_text = false;
  bool in_heap = false;                      // a text that always lies in the input batch's heap
  bool stateful = false;                     // depends on a state variable
  std::shared_ptr<const outside_call> call;  // of an outside function: keeps what imm points to
};

class value_graph {
 public:
  explicit value_graph(const record::row_type& input) : input_(&input) {}

  const value& operator[](value_id id) const { return values_[id]; }
  size_t num_values() const { return values_.size(); }

  value_id column(size_t column);
  value_id state(size_t index, bool is_text);
  value_id number(uint64_t lane);
  value_id primitive(opcode op, std::vector<value_id> args, uint64_t imm = 0);
  // The value of a tree whose column k (of the row type `row`) is columns[k] and whose state variable k is state[k].
  value_id insert(const node_ptr& root, const record::row_type& row, const std::vector<value_id>& columns,
                  const std::vector<value_id>& state);

 private:
  struct context;
  value_id intern(value v);
  value_id visit(const node_ptr& n, context& in);
  value_id divide(value_id a, uint64_t divisor, bool remainder);

  const record::row_type* input_;
  std::vector<value> values_;
  std::unordered_map<std::string, value_id> known_;
};

}  // namespace flowrun::expr
