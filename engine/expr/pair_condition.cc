#include "engine/expr/pair_condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include "engine/base/error.h"
#include "engine/expr/lane.h"
#include "engine/expr/node.h"
#include "engine/expr/outside_call.h"
#include "engine/expr/primitive.h"
#include "engine/expr/scalars.h"

namespace flowrun::expr {

namespace {

using record::type_kind;
using record::value_type;

// Equal keys mean equal trees. False when the tree is too large to be worth it: trees share nodes, texts don't.
bool put_key(const node& n, std::string& out) {
  constexpr size_t most_bytes = 4096;
  fmt::format_to(std::back_inserter(out), "({} {} {}", static_cast<int>(n.op), n.imm, n.text.size());
  out += n.text;
  for (const node_ptr& arg : n.args)
    if (out.size() > most_bytes || !put_key(*arg, out)) return false;
  out += ')';
  return true;
}

value_type lane_type(value_type type) {
  return value_type::of(type.has_sign() ? type_kind::i64 : type.is_float() ? type_kind::f64 : type_kind::u64);
}

const node_ptr& without_retype(const node_ptr& n) {
  const node_ptr* inner = &n;
  while ((*inner)->op == opcode::retype) inner = &(*inner)->args[0];
  return *inner;
}

// Numbers of a tree's lanes have at most so many bits.
class width {
 public:
  uint32_t of(const node_ptr& n) {
    const auto known = done_.find(n.get());
    if (known != done_.end()) return known->second;
    const uint32_t bits = std::min(of_new(n), lane_bits);
    done_.emplace(n.get(), bits);
    return bits;
  }

 private:
  static constexpr uint32_t lane_bits = 64;
  static uint32_t bits_of(uint64_t number) { return static_cast<uint32_t>(std::bit_width(number)); }
  uint32_t of_new(const node_ptr& n) {
    const auto arg = [&](size_t i) { return of(n->args[i]); };
    const bool by_constant = n->args.size() == 2 && n->args[1]->is_number_constant() && n->args[1]->imm < lane_bits;
    switch (n->op) {
      case opcode::constant: return bits_of(n->imm);
      case opcode::column: return n->type.is_boolean() ? 1 : n->type.is_unsigned() ? 8 * n->type.num_bytes : lane_bits;
      case opcode::retype: return arg(0);
      case opcode::bit_and: return std::min(arg(0), arg(1));
      case opcode::bit_or:
      case opcode::bit_xor:
      case opcode::max_u: return std::max(arg(0), arg(1));
      case opcode::min_u: return std::min(arg(0), arg(1));
      case opcode::add: return std::max(arg(0), arg(1)) + 1;
      case opcode::shl: return by_constant ? arg(0) + static_cast<uint32_t>(n->args[1]->imm) : lane_bits;
      case opcode::shr_u:
        return by_constant ? arg(0) - std::min(arg(0), static_cast<uint32_t>(n->args[1]->imm)) : arg(0);
      case opcode::select: return std::max(arg(1), arg(2));
      default: return n->type.is_boolean() ? 1 : lane_bits;
    }
  }

  std::unordered_map<const node*, uint32_t> done_;  // trees share nodes
};

constexpr unsigned of_a = 1, of_b = 2;

// Which rows a tree depends on.
class dependence {
 public:
  explicit dependence(std::vector<unsigned> columns) : columns_(std::move(columns)) {}
  unsigned of(const node_ptr& n) {
    const auto known = done_.find(n.get());
    if (known != done_.end()) return known->second;
    unsigned rows = n->op == opcode::column ? columns_[n->imm] : 0;
    for (const node_ptr& arg : n->args) rows |= of(arg);
    done_.emplace(n.get(), rows);
    return rows;
  }

 private:
  std::vector<unsigned> columns_;
  std::unordered_map<const node*, unsigned> done_;  // trees share nodes
};

}  // namespace

size_t lane_list::add(const expression& value) {
  std::string key;
  if (!put_key(*without_retype(value.root()), key)) key = fmt::format("lane {}", columns_.size());
  for (size_t i = 0; i < keys_.size(); ++i)
    if (keys_[i] == key) return i;
  keys_.push_back(std::move(key));
  columns_.emplace_back(fmt::format("{}", columns_.size()),
                        expression(retype_node(value.root(), lane_type(value.type())), value.text()));
  return columns_.size() - 1;
}

class pair_condition::compiler {
 public:
  compiler(pair_condition& to, const std::vector<pair_binding>& bindings, lane_list& a_lanes, lane_list& b_lanes)
      : to_(to), bindings_(bindings), a_lanes_(a_lanes), b_lanes_(b_lanes), rows_(dependences(bindings)) {}

  void run(const node_ptr& root) {
    const node_ptr folded = fold(root);
    std::vector<values> terms;
    if (lexicographic(folded, terms)) {
      to_.lexicographic_ = true;
      for (const values& v : packed(terms)) to_.terms_.push_back({lane_of(v.a, of_a), lane_of(v.b, of_b), v.flip});
      return;
    }
    to_.result_ = lower(folded);
    to_.results_.resize(to_.steps_.size());
  }

 private:
  static std::vector<unsigned> dependences(const std::vector<pair_binding>& bindings) {
    std::vector<unsigned> out;
    for (const pair_binding& b : bindings)
      out.push_back(b.from == pair_binding::side::a ? of_a : b.from == pair_binding::side::b ? of_b : 0);
    return out;
  }

  // The tree with its constants put in.
  node_ptr fold(const node_ptr& n) {
    const auto known = folded_.find(n.get());
    if (known != folded_.end()) return known->second;
    node_ptr out = fold_new(n);
    folded_.emplace(n.get(), out);
    return out;
  }
  node_ptr fold_new(const node_ptr& n) {
    if (n->op == opcode::column) {
      const pair_binding& b = bindings_[n->imm];
      if (b.from != pair_binding::side::constant) return n;
      return n->type.is_text()
                 ? retype_node(text_node(n->type.is_bytes() ? std::string(n->type.num_bytes, '\0') : ""), n->type)
                 : number_node(n->type, b.lane);
    }
    if (n->args.empty()) return n;
    std::vector<node_ptr> args;
    for (const node_ptr& arg : n->args) args.push_back(fold(arg));
    if (n->op == opcode::retype) return retype_node(args[0], n->type);
    if (n->type.is_boolean() && (n->op == opcode::bit_and || n->op == opcode::bit_or)) {
      const bool is_and = n->op == opcode::bit_and;
      for (size_t i = 0; i < 2; ++i)
        if (args[i]->is_number_constant()) return (args[i]->imm != 0) == is_and ? args[1 - i] : args[i];
    }
    node_ptr out = op_node(n->op, n->type, std::move(args), n->imm);
    if (rows_.of(n) != 0) return out;
    // Of scalars alone: numbers that vary from run to run are not folded by themselves.
    const node_ptr value = constant_value(out);
    return value != nullptr ? value : out;
  }

  // The same over the stream's own rows.
  node_ptr over_own_row(const node_ptr& n) {
    if (n->args.empty()) return n->op == opcode::column ? column_node(bindings_[n->imm].column, n->type) : n;
    const auto known = own_.find(n.get());
    if (known != own_.end()) return known->second;
    node_ptr out = over_own_row_new(n);
    own_.emplace(n.get(), out);
    return out;
  }
  node_ptr over_own_row_new(const node_ptr& n) {
    std::vector<node_ptr> args;
    for (const node_ptr& arg : n->args) args.push_back(over_own_row(arg));
    if (n->op == opcode::retype) return retype_node(args[0], n->type);
    return op_node(n->op, n->type, std::move(args), n->imm);
  }
  uint32_t lane_of(const node_ptr& n, unsigned rows) {
    lane_list& lanes = rows == of_a ? a_lanes_ : b_lanes_;
    return static_cast<uint32_t>(lanes.add(expression(over_own_row(n), "")));
  }

  // What a term compares, over the pair's columns.
  struct values {
    node_ptr a, b;
    uint64_t flip;
  };

  // a.x < b.y or b.y < a.x (descending): one term.
  bool one_term(const node_ptr& n, values& out) {
    const bool is_signed = n->op == opcode::lt_i;
    if (n->op != opcode::lt_u && !is_signed) return false;
    const unsigned left = rows_.of(n->args[0]), right = rows_.of(n->args[1]);
    const bool descending = left == of_b && right == of_a;
    if (!descending && !(left == of_a && right == of_b)) return false;
    out.a = n->args[descending ? 1 : 0];
    out.b = n->args[descending ? 0 : 1];
    out.flip = (is_signed ? lane::sign_bit : 0) ^ (descending ? ~uint64_t{0} : 0);
    return true;
  }
  bool is_tie(const node_ptr& n, const values& t) {
    if (n->op != opcode::eq) return false;
    const unsigned left = rows_.of(n->args[0]), right = rows_.of(n->args[1]);
    if ((left | right) != (of_a | of_b) || left == right || left == 0 || right == 0) return false;
    if (left > of_b || right > of_b) return false;
    return same(n->args[left == of_a ? 0 : 1], t.a) && same(n->args[left == of_a ? 1 : 0], t.b);
  }
  static bool same(const node_ptr& x, const node_ptr& y) {
    const node_ptr &left = without_retype(x), &right = without_retype(y);
    if (left == right) return true;
    std::string left_key, right_key;
    return put_key(*left, left_key) && put_key(*right, right_key) && left_key == right_key;
  }
  // x < y, or: x < y or (x == y and <the rest>), in any sequence: what comparing tuples comes to.
  bool lexicographic(const node_ptr& wrapped, std::vector<values>& terms) {
    const node_ptr& n = without_retype(wrapped);
    values t{};
    if (one_term(n, t)) {
      terms.push_back(t);
      return true;
    }
    if (n->op != opcode::bit_or || !n->type.is_boolean()) return false;
    for (size_t i = 0; i < 2; ++i) {
      if (!one_term(without_retype(n->args[i]), t)) continue;
      const node_ptr& both = without_retype(n->args[1 - i]);
      if (both->op != opcode::bit_and) continue;
      for (size_t k = 0; k < 2; ++k) {
        if (!is_tie(without_retype(both->args[k]), t)) continue;
        terms.push_back(t);
        return lexicographic(both->args[1 - k], terms);
      }
    }
    return false;
  }
  // Neighbouring terms whose numbers fit one lane side by side become one.
  std::vector<values> packed(const std::vector<values>& terms) {
    constexpr uint32_t lane_bits = 64;
    std::vector<values> out;
    uint32_t used = lane_bits;  // of the last one
    for (const values& t : terms) {
      const uint32_t bits = t.flip == 0 ? std::max(width_.of(t.a), width_.of(t.b)) : lane_bits;
      if (!out.empty() && out.back().flip == t.flip && used + bits <= lane_bits) {
        used += bits;
        out.back().a = beside(out.back().a, t.a, bits);
        out.back().b = beside(out.back().b, t.b, bits);
      } else {
        out.push_back(t);
        used = bits;
      }
    }
    return out;
  }
  static node_ptr beside(const node_ptr& high, const node_ptr& low, uint32_t low_bits) {
    const value_type u64 = value_type::of(type_kind::u64);
    const node_ptr shifted = op_node(opcode::shl, u64, {retype_node(high, u64), number_node(u64, low_bits)});
    return op_node(opcode::bit_or, u64, {shifted, retype_node(low, u64)});
  }

  operand lower(const node_ptr& n) {
    if (n->is_number_constant()) {
      to_.constants_.push_back(n->imm);
      return {2, static_cast<uint32_t>(to_.constants_.size() - 1)};
    }
    const unsigned rows = rows_.of(n);
    if (rows == of_a || rows == of_b) return {static_cast<uint8_t>(rows == of_a ? 0 : 1), lane_of(n, rows)};
    if (n->op == opcode::retype) return lower(n->args[0]);
    const auto known = lowered_.find(n.get());
    if (known != lowered_.end()) return known->second;
    FLOWRUN_CHECK(is_numeric_op(n->op));
    step s;
    s.op = n->op;
    s.imm = n->imm;
    s.a = lower(n->args[0]);
    if (n->args.size() > 1) s.b = lower(n->args[1]);
    if (n->args.size() > 2) s.c = lower(n->args[2]);
    if (to_.constants_.empty()) to_.constants_.push_back(0);  // what unused operands point to
    to_.steps_.push_back(s);
    const operand place{3, static_cast<uint32_t>(to_.steps_.size() - 1)};
    lowered_.emplace(n.get(), place);
    return place;
  }

  pair_condition& to_;
  const std::vector<pair_binding>& bindings_;
  lane_list& a_lanes_;
  lane_list& b_lanes_;
  dependence rows_;
  width width_;
  std::unordered_map<const node*, node_ptr> folded_, own_;
  std::unordered_map<const node*, operand> lowered_;
};

pair_condition::pair_condition(const expression& condition, const std::vector<pair_binding>& bindings,
                               lane_list& a_lanes, lane_list& b_lanes) {
  compiler(*this, bindings, a_lanes, b_lanes).run(condition.root());
}

bool pair_condition::run(const uint64_t* a_lanes, const uint64_t* b_lanes) const {
  const uint64_t* const bases[4] = {a_lanes, b_lanes, constants_.data(), results_.data()};
  const auto get = [&](operand o) { return bases[o.base][o.index]; };
  for (size_t i = 0; i < steps_.size(); ++i) {
    const step& s = steps_[i];
    results_[i] = apply(s.op, get(s.a), get(s.b), get(s.c), s.imm, 0);
  }
  return get(result_) != 0;
}

std::vector<problem> can_pair(const expression& condition, const std::vector<bool>& is_a) {
  std::vector<unsigned> columns;
  for (const bool a : is_a) columns.push_back(a ? of_a : of_b);
  dependence rows(std::move(columns));
  std::vector<problem> out;
  std::unordered_set<const node*> seen;
  const auto visit = [&](const auto& self, const node_ptr& n) -> void {
    if (rows.of(n) != (of_a | of_b) || !out.empty() || !seen.insert(n.get()).second) return;
    if (n->call != nullptr) {
      const bool is_list = n->call->function == nullptr;
      out.push_back({0, fmt::format("{} can't see two rows here", is_list ? "a long list" : "a plugin's function"),
                     is_list ? "fewer constants" : "functions of the expression language",
                     "compute its value of each row in a map in front"});
      return;
    }
    if (is_text_op(n->op)) {
      out.push_back({0, "texts of two rows can't be compared here", "numbers",
                     "compare numbers computed from each row's text, such as a.s[0] < b.s[0], or merge `by` columns"});
      return;
    }
    for (const node_ptr& arg : n->args) self(self, arg);
  };
  visit(visit, condition.root());
  return out;
}

}  // namespace flowrun::expr
