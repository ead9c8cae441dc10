#include "engine/expr/scalars.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <unordered_set>

#include "engine/base/error.h"
#include "engine/expr/outside_call.h"
#include "engine/expr/outside_function.h"
#include "engine/record/key_piece.h"

namespace flowrun::expr {

namespace {

// A tree again with other leaves; what it shares stays shared.
template <class Leaf>
class rewriter {
 public:
  // `leaf(n)`: what stands for a leaf; null: itself. `folds`: what has become constant is computed. `binds`: leaves
  // have got values, so calls of outside functions are bound again.
  rewriter(Leaf leaf, bool folds, bool binds) : leaf_(std::move(leaf)), folds_(folds), binds_(binds) {}

  node_ptr operator()(const node_ptr& n) {
    if (n->args.empty()) {
      node_ptr other = leaf_(*n);
      return other == nullptr ? n : other;
    }
    node_ptr& out = done_[n.get()];
    if (out == nullptr) out = rewritten(n);
    return out;
  }

 private:
  node_ptr rewritten(const node_ptr& n) {
    std::vector<node_ptr> args;
    for (const node_ptr& arg : n->args) args.push_back((*this)(arg));
    if (args == n->args) return n;
    if (n->call != nullptr) {
      std::vector<node_ptr> given;
      for (const node_ptr& arg : n->call->given) given.push_back((*this)(arg));
      return outside_call_again(*n, std::move(args), std::move(given), binds_);
    }
    if (folds_) return n->op == opcode::retype ? retype_node(args[0], n->type) : op_node(n->op, n->type, args, n->imm);
    auto out = std::make_shared<node>(*n);
    out->args = std::move(args);
    return out;
  }

  Leaf leaf_;
  const bool folds_, binds_;
  std::unordered_map<const node*, node_ptr> done_;
};

// Looks at shared nodes once.
bool any_leaf(const node& n, std::unordered_set<const node*>& seen, const auto& is) {
  if (n.args.empty()) return is(n);
  if (!seen.insert(&n).second) return false;
  return std::any_of(n.args.begin(), n.args.end(), [&](const node_ptr& arg) { return any_leaf(*arg, seen, is); });
}

bool has_scalars(const node& n) {
  std::unordered_set<const node*> seen;
  return any_leaf(n, seen, [](const node& leaf) { return leaf.op == opcode::scalar; });
}

}  // namespace

std::optional<record::value_type> scalar_type(record::value_type column) {
  using record::type_kind;
  using record::value_type;
  if (column.is_boolean() || column.is_time() || column.is_decimal()) return column;
  if (column.is_float()) return value_type::of(type_kind::f64);
  if (column.is_signed()) return value_type::of(type_kind::i64);
  if (column.is_unsigned()) return value_type::of(type_kind::u64);
  return std::nullopt;
}

uint64_t scalar_bits(const std::byte* field, record::value_type column) {
  const uint64_t bits = record::load_unsigned(field, column.num_bytes);
  const unsigned shift = 64 - 8 * column.num_bytes;
  if (column.is_float() && column.num_bytes == 4)
    return std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))));
  if (column.is_boolean()) return bits != 0 ? 1 : 0;  // as a row's field is read
  if (column.has_sign()) return static_cast<uint64_t>(static_cast<int64_t>(bits << shift) >> shift);
  return bits;
}

bool is_without_rows(const node& n) {
  std::unordered_set<const node*> seen;
  return !any_leaf(n, seen, [](const node& leaf) {
    return leaf.op != opcode::scalar && leaf.op != opcode::constant && leaf.op != opcode::text_constant;
  });
}

node_ptr constant_value(const node_ptr& n) {
  if (n->op == opcode::constant || n->op == opcode::text_constant) return n;
  if (!is_without_rows(*n) || has_scalars(*n)) return nullptr;
  // What is left to fold are numbers that vary from run to run.
  const auto plain = [](const node& leaf) {
    return leaf.op == opcode::constant ? scalar_node(leaf.type, leaf.imm) : nullptr;
  };
  const node_ptr folded = rewriter(plain, true, false)(n);
  return folded->op == opcode::constant || folded->op == opcode::text_constant ? folded : nullptr;
}

node_ptr unbound_scalar_node(std::string name, record::value_type type) {
  auto n = std::make_shared<node>();
  n->op = opcode::scalar;
  n->type = type;
  n->text = std::move(name);
  n->constant = n->known = false;
  return n;
}

bool expression::is_constant() const { return is_without_rows(*root_); }

expression expression::with(const scalar_values& values) const {
  if (!has_scalars(*root_)) return *this;
  const auto bound = [&](bool folds) {
    const auto value_of = [&](const node& n) -> node_ptr {
      if (n.op != opcode::scalar) return nullptr;
      const auto found =
          std::find_if(values.begin(), values.end(), [&](const constant& c) { return c.name == n.text; });
      FLOWRUN_CHECK(found != values.end() && found->type == n.type);
      return folds ? scalar_node(n.type, found->bits) : varying_number_node(n.type, found->bits);
    };
    return expression{rewriter(value_of, folds, true)(root_), text_};
  };
  if (is_without_rows(*root_)) {
    try {
      return bound(true);
    } catch (const call_failed&) {
      // A decimal is too large, or a plugin's function refuses its arguments. That ends the job where a value is asked
      // for: by constant_bits() and constant_text(), or by the first row, which may never come.
    }
  }
  // Over rows, the tree stays what was checked, for all values: no column that it reads is folded away.
  return bound(false);
}

std::optional<uint64_t> expression::constant_bits() const {
  const node_ptr value = constant_value(root_);
  return value != nullptr && value->op == opcode::constant ? std::optional(value->imm) : std::nullopt;
}

std::optional<std::string> expression::constant_text() const {
  const node_ptr value = constant_value(root_);
  return value != nullptr && value->op == opcode::text_constant ? std::optional(value->text) : std::nullopt;
}

expression expression::over(const std::vector<size_t>& places) const {
  const auto moved = [&](const node& n) -> node_ptr {
    if (n.op != opcode::column) return nullptr;
    return column_node(places.at(n.imm), n.type);
  };
  return {rewriter(moved, false, false)(root_), text_};
}

}  // namespace flowrun::expr
