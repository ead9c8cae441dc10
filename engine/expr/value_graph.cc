#include "engine/expr/value_graph.h"

#include <bit>

#include "engine/base/error.h"
#include "engine/expr/expression.h"
#include "engine/expr/kernels.h"
#include "engine/expr/lane.h"
#include "engine/expr/outside_call.h"

namespace flowrun::expr {

struct value_graph::context {
  const record::row_type& row;
  const std::vector<value_id>& columns;
  const std::vector<value_id>& state;
  std::unordered_map<const node*, value_id> done;  // trees share nodes
};

value_id value_graph::intern(value v) {
  std::string key;
  const auto put = [&](const void* data, size_t num_bytes) { key.append(static_cast<const char*>(data), num_bytes); };
  put(&v.op, sizeof v.op);
  put(&v.imm, sizeof v.imm);
  put(&v.imm2, sizeof v.imm2);
  for (value_id arg : v.args) put(&arg, sizeof arg);
  key += v.text;
  const auto [at, is_new] = known_.try_emplace(std::move(key), static_cast<value_id>(values_.size()));
  if (is_new) {
    for (value_id arg : v.args) v.stateful = v.stateful || values_[arg].stateful;
    values_.push_back(std::move(v));
  }
  return at->second;
}

value_id value_graph::number(uint64_t lane) {
  value v;
  v.imm = lane;
  return intern(std::move(v));
}

value_id value_graph::column(size_t column) {
  value v;
  v.op = opcode::column;
  v.imm = column;
  v.is_text = (*input_)[column].type.is_text();
  v.in_heap = (*input_)[column].type.is_string();
  return intern(std::move(v));
}

value_id value_graph::state(size_t index, bool is_text) {
  value v;
  v.op = opcode::state;
  v.imm = index;
  v.is_text = is_text;
  v.stateful = true;
  return intern(std::move(v));
}

value_id value_graph::divide(value_id a, uint64_t divisor, bool remainder) {
  if (std::has_single_bit(divisor)) {
    const auto shift = static_cast<uint64_t>(std::countr_zero(divisor));
    return remainder ? primitive(opcode::bit_and, {a, number(divisor - 1)})
                     : primitive(opcode::shr_u, {a, number(shift)});
  }
  value v;
  v.op = opcode::div_u_magic;
  v.args = {a};
  v.imm = lane::magic_for(divisor, v.imm2);
  const value_id quotient = intern(std::move(v));
  return remainder ? primitive(opcode::sub, {a, primitive(opcode::mul, {quotient, number(divisor)})}) : quotient;
}

value_id value_graph::primitive(opcode op, std::vector<value_id> args, uint64_t imm) {
  const auto is_constant = [&](size_t i) { return values_[args[i]].op == opcode::constant; };
  if (is_numeric_op(op)) {
    bool all_constant = true;
    for (size_t i = 0; i < args.size(); ++i) all_constant = all_constant && is_constant(i);
    const auto lane = [&](size_t i) { return i < args.size() ? values_[args[i]].imm : 0; };
    if (all_constant && !may_fail(op)) return number(evaluate(op, lane(0), lane(1), lane(2), imm, 0));
    if (op == opcode::select && is_constant(0)) return values_[args[0]].imm != 0 ? args[1] : args[2];
    // Constants go right, where they can be immediates; equal values get one order, so that a + b and b + a are one.
    if (is_commutative(op) && (is_constant(0) || (!is_constant(1) && args[1] < args[0]))) std::swap(args[0], args[1]);
    const bool divides = op == opcode::div_u || op == opcode::rem_u;
    if (divides && is_constant(1) && values_[args[1]].imm != 0)
      return divide(args[0], values_[args[1]].imm, op == opcode::rem_u);
  }
  value v;
  v.op = op;
  v.imm = imm;
  v.is_text = gives_text(op);
  switch (op) {
    case opcode::cut:
    case opcode::slice:
    case opcode::fields: v.in_heap = values_[args[0]].in_heap; break;
    case opcode::select_text: v.in_heap = values_[args[1]].in_heap && values_[args[2]].in_heap; break;
    case opcode::min_text:
    case opcode::max_text: v.in_heap = values_[args[0]].in_heap && values_[args[1]].in_heap; break;
    default: break;
  }
  v.args = std::move(args);
  return intern(std::move(v));
}

value_id value_graph::visit(const node_ptr& n, context& in) {
  const auto found = in.done.find(n.get());
  if (found != in.done.end()) return found->second;
  value_id id = 0;
  switch (n->op) {
    case opcode::constant: id = number(n->imm); break;
    case opcode::text_constant: {
      value v;
      v.op = n->op;
      v.text = n->text;
      v.is_text = true;
      id = intern(std::move(v));
      break;
    }
    case opcode::column:
      FLOWRUN_CHECK(n->imm < in.columns.size());
      id = in.columns[n->imm];
      break;
    case opcode::neighbour: {
      const auto column = in.row.index_of(neighbour_column_name(n->text, n->distance));
      FLOWRUN_CHECK(column.has_value());
      id = in.columns[*column];
      break;
    }
    case opcode::row_number: {
      value v;
      v.op = n->op;
      id = intern(std::move(v));
      break;
    }
    case opcode::state:
      FLOWRUN_CHECK(n->imm < in.state.size());
      id = in.state[n->imm];
      break;
    case opcode::scalar: internal_error("the scalar '" + n->text + "' has no value");
    case opcode::retype: id = visit(n->args[0], in); break;
    default: {
      std::vector<value_id> args;
      for (const node_ptr& arg : n->args) args.push_back(visit(arg, in));
      id = primitive(n->op, std::move(args), n->imm);
      if (n->call != nullptr) {
        values_[id].call = n->call;
        if (n->call->bound->gives_parts()) values_[id].in_heap = values_[values_[id].args[0]].in_heap;
      }
      break;
    }
  }
  in.done.emplace(n.get(), id);
  return id;
}

value_id value_graph::insert(const node_ptr& root, const record::row_type& row, const std::vector<value_id>& columns,
                             const std::vector<value_id>& state) {
  context in{row, columns, state, {}};
  return visit(root, in);
}

}  // namespace flowrun::expr
