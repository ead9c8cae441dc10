#include "engine/expr/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <unordered_set>

#include "engine/expr/checker.h"
#include "engine/expr/coerce.h"
#include "engine/expr/node.h"
#include "engine/expr/parser.h"

namespace flowrun::expr {

namespace {

// Visits every node once, also where trees share nodes; operands in order.
template <class Visit>
void visit_once(const node& n, std::unordered_set<const node*>& seen, const Visit& visit) {
  if (!seen.insert(&n).second) return;
  visit(n);
  for (const node_ptr& arg : n.args) visit_once(*arg, seen, visit);
}

struct checked {
  node_ptr root;
  std::vector<problem> problems;
};

checked check_text(std::string_view text, const scope& names) {
  checked result;
  if (const auto tree = parse(text, result.problems)) result.root = check(*tree, names, result.problems);
  if (!result.problems.empty()) result.root = nullptr;
  std::stable_sort(result.problems.begin(), result.problems.end(),
                   [](const problem& a, const problem& b) { return a.offset < b.offset; });
  return result;
}

compiled as_compiled(checked c, std::string_view text) {
  compiled result;
  if (c.root != nullptr) result.value.emplace(std::move(c.root), std::string(text));
  result.problems = std::move(c.problems);
  return result;
}

}  // namespace

std::string neighbour_column_name(std::string_view column, int distance) {
  return fmt::format("{}[{}]", column, distance);
}

expression::expression(std::shared_ptr<const node> root, std::string text)
    : root_(std::move(root)), text_(std::move(text)) {}

record::value_type expression::type() const { return root_->type; }

std::optional<size_t> expression::as_column() const {
  if (root_->op != opcode::column) return std::nullopt;
  return root_->imm;
}

std::optional<expression::slice> expression::as_slice() const {
  if (root_->op != opcode::cut || root_->args[0]->op != opcode::column) return std::nullopt;
  return slice{root_->args[0]->imm, static_cast<uint32_t>(root_->imm >> 32), static_cast<uint32_t>(root_->imm)};
}

bool expression::uses_row_number() const { return root_->uses_row_number; }

std::vector<size_t> expression::columns() const {
  std::set<size_t> found;
  std::unordered_set<const node*> seen;
  visit_once(*root_, seen, [&](const node& n) {
    if (n.op == opcode::column) found.insert(n.imm);
  });
  return {found.begin(), found.end()};
}

std::vector<neighbour> expression::neighbours() const {
  std::vector<neighbour> found;
  std::unordered_set<const node*> seen;
  visit_once(*root_, seen, [&](const node& n) {
    const neighbour here{n.text, n.distance};
    if (n.op == opcode::neighbour && std::find(found.begin(), found.end(), here) == found.end()) found.push_back(here);
  });
  return found;
}

std::optional<expression> expression::converted_to(record::value_type type) const {
  node_ptr converted = convert(root_, type);
  if (converted == nullptr) return std::nullopt;
  return expression(std::move(converted), text_);
}

compiled compile(std::string_view text, const scope& names) { return as_compiled(check_text(text, names), text); }

compiled compile_condition(std::string_view text, const scope& names) {
  compiled result = compile(text, names);
  if (!result.value || result.value->type().is_boolean()) return result;
  const record::value_type type = result.value->type();
  result.value.reset();
  result.problems.push_back({0, fmt::format("the condition is {}", to_string(type)), "bool",
                             type.is_text()   ? "write x == 'text'"
                             : type.is_time() ? "compare it: x >= '2026-11-23'"
                                              : "write x != 0"});
  return result;
}

expression column_expression(const record::row_type& row, size_t column) {
  return {column_node(column, row[column].type), row[column].name};
}

namespace {

// Whether a sign in front of the text, which means the order of all of it, would also be read as that of its first
// operand or of a number.
bool hides_a_sign(std::string_view text) {
  std::vector<problem> problems;
  const auto tree = parse(text, problems);
  if (tree == nullptr || !problems.empty()) return false;
  if (tree->kind == syntax_kind::integer || tree->kind == syntax_kind::real) return tree->first == tree->offset;
  // x not in (…) is a negation that begins with x.
  const bool has_operands = tree->kind == syntax_kind::binary || tree->kind == syntax_kind::among ||
                            tree->kind == syntax_kind::between || tree->kind == syntax_kind::unary;
  const bool in_parentheses = has_operands && tree->first < tree->children[0]->first;
  return has_operands && !in_parentheses;
}

}  // namespace

compiled_sort_term compile_sort_term(std::string_view text, const scope& names) {
  const size_t sign = text.find_first_not_of(" \t\r\n");
  const bool has_sign = sign != std::string_view::npos && (text[sign] == '-' || text[sign] == '+');
  compiled_sort_term result;
  const size_t skipped = has_sign ? sign + 1 : 0;
  compiled key = compile(text.substr(skipped), names);
  for (problem& p : key.problems) p.offset += skipped;
  result.problems = std::move(key.problems);
  if (key.value && has_sign && hides_a_sign(text.substr(skipped))) {
    const std::string_view rest = text.substr(text.find_first_not_of(" \t\r\n", skipped));
    result.problems.push_back(
        {sign,
         fmt::format("a '{}' in front means the order of the whole key, and not the sign of its "
                     "beginning",
                     text[sign]),
         fmt::format("{0}({1}); or ({0}x) in parentheses where it is the sign of x", text[sign], rest), ""});
    return result;
  }
  if (key.value) result.value = sort_term{std::move(*key.value), has_sign && text[sign] == '-'};
  return result;
}

bool is_reserved_word(std::string_view word) {
  static constexpr std::array<std::string_view, 7> reserved = {"and",   "or",  "not",       "true",
                                                               "false", "row", "row_number"};
  return std::find(reserved.begin(), reserved.end(), word) != reserved.end();
}

}  // namespace flowrun::expr
