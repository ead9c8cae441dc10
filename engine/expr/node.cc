// Construction of nodes, and constant folding with the very kernels that would run otherwise.
#include "engine/expr/node.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/expr/kernels.h"
#include "engine/expr/outside_call.h"
#include "engine/expr/text_kernels.h"
#include "engine/record/row_too_large.h"

namespace flowrun::expr {

namespace {

using record::type_kind;
using record::value_type;

node_ptr leaf(opcode op, value_type type, uint64_t imm) {
  auto n = std::make_shared<node>();
  n->op = op;
  n->type = type;
  n->imm = imm;
  n->constant = n->known = op == opcode::constant || op == opcode::text_constant;
  n->uses_row_number = op == opcode::row_number;
  n->uses_state = op == opcode::state;
  return n;
}

constexpr uint64_t most_constant_bytes = 16 * MiB;

// Throws call_failed where a text is too long. Constants that are neither operands nor results of text primitives never
// come here.
node_ptr fold_text(const node& n) {
  std::vector<uint64_t> lanes(n.args.size());
  std::vector<std::string_view> views(n.args.size());
  std::vector<text_operand> operands;
  for (size_t i = 0; i < n.args.size(); ++i) {
    const node& arg = *n.args[i];
    lanes[i] = arg.imm;
    views[i] = arg.text;
    operands.push_back({arg.type.is_text() ? static_cast<const void*>(&views[i]) : &lanes[i], 0});
  }
  record::batch_pool pool;
  text_arena arena(pool);
  arena.limit(most_constant_bytes);
  uint64_t lane = 0;
  std::string_view view;
  text_call call;
  call.args = operands.data();
  call.num_args = operands.size();
  call.imm = n.imm;
  call.arena = &arena;
  call.num_rows = 1;
  call.out = gives_text(n.op) ? static_cast<void*>(&view) : &lane;
  try {
    text_kernel_for(n.op)(call);
  } catch (const record::row_too_large&) {
    throw call_failed(error(error_kind::bad_data,
                            fmt::format("a text of constants is longer than {}", format_bytes(most_constant_bytes)),
                            "let it depend on a column, or cut it with text[0:n]"));
  }
  if (!gives_text(n.op)) return n.known ? number_node(n.type, lane) : scalar_node(n.type, lane);
  auto folded = std::make_shared<node>();
  folded->op = opcode::text_constant;
  folded->known = n.known;
  folded->type = n.type;
  folded->text = std::string(view);
  return folded;
}

}  // namespace

node_ptr number_node(value_type type, uint64_t lane, bool literal) {
  auto n = std::make_shared<node>();
  n->op = opcode::constant;
  n->type = type;
  n->imm = lane;
  n->literal = literal;
  return n;
}

node_ptr scalar_node(value_type type, uint64_t lane) {
  auto n = std::make_shared<node>();
  n->op = opcode::constant;
  n->type = type;
  n->imm = lane;
  n->known = false;
  return n;
}

node_ptr varying_number_node(value_type type, uint64_t lane) {
  auto n = std::make_shared<node>();
  n->op = opcode::constant;
  n->type = type;
  n->imm = lane;
  n->constant = n->known = false;
  return n;
}

node_ptr text_node(std::string text) {
  auto n = std::make_shared<node>();
  n->op = opcode::text_constant;
  n->type = value_type::of(type_kind::string);
  n->text = std::move(text);
  n->literal = true;
  return n;
}

node_ptr column_node(size_t column, value_type type) { return leaf(opcode::column, type, column); }
node_ptr row_number_node() { return leaf(opcode::row_number, value_type::of(type_kind::u64), 0); }
node_ptr state_node(size_t index, value_type type) { return leaf(opcode::state, type, index); }

node_ptr neighbour_node(std::string column, int distance, value_type type) {
  auto n = std::make_shared<node>();
  n->op = opcode::neighbour;
  n->type = type;
  n->text = std::move(column);
  n->distance = distance;
  n->constant = n->known = false;
  return n;
}

namespace {

// A node of a primitive, not folded.
std::shared_ptr<node> unfolded(opcode op, value_type type, std::vector<node_ptr> args, uint64_t imm) {
  auto n = std::make_shared<node>();
  n->op = op;
  n->type = type;
  n->imm = imm;
  for (const node_ptr& arg : args) {
    n->constant = n->constant && arg->constant;
    n->known = n->known && arg->known;
    n->uses_row_number = n->uses_row_number || arg->uses_row_number;
    n->uses_state = n->uses_state || arg->uses_state;
  }
  n->args = std::move(args);
  return n;
}

}  // namespace

node_ptr call_node(std::shared_ptr<const outside_call> call, value_type type, std::vector<node_ptr> args) {
  FLOWRUN_CHECK(!type.is_bytes());
  const opcode op = type.is_text() ? opcode::outside_text : opcode::outside_number;
  // The address is the immediate: calls that were bound apart are never taken for one.
  const auto address = reinterpret_cast<uintptr_t>(call->bound.get());
  const std::shared_ptr<node> n = unfolded(op, type, std::move(args), address);
  n->call = std::move(call);
  return n->constant ? fold_text(*n) : n;
}

node_ptr op_node(opcode op, value_type type, std::vector<node_ptr> args, uint64_t imm) {
  const std::shared_ptr<node> n = unfolded(op, type, std::move(args), imm);
  if (op == opcode::select && n->args[0]->constant) return n->args[n->args[0]->imm != 0 ? 1 : 2];
  if (op == opcode::select_text && n->args[0]->constant) return n->args[n->args[0]->imm != 0 ? 1 : 2];
  if (!n->constant) return n;
  if (is_text_op(op)) return fold_text(*n);
  const auto lane = [&](size_t i) { return i < n->args.size() ? n->args[i]->imm : 0; };
  const uint64_t value = evaluate(op, lane(0), lane(1), lane(2), imm, 0);
  return n->known ? number_node(type, value) : scalar_node(type, value);
}

node_ptr retype_node(node_ptr value, value_type type) {
  if (value->type == type && !value->literal) return value;
  if (value->constant) {
    auto n = std::make_shared<node>(*value);
    n->type = type;
    n->literal = false;
    return n;
  }
  auto n = std::make_shared<node>();
  n->op = opcode::retype;
  n->type = type;
  n->constant = n->known = false;
  n->uses_row_number = value->uses_row_number;
  n->uses_state = value->uses_state;
  n->args.push_back(std::move(value));
  return n;
}

}  // namespace flowrun::expr
