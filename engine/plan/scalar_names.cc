#include "engine/plan/scalar_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/expr/mentions.h"
#include "engine/plan/body_ports.h"
#include "engine/plan/node_checker.h"
#include "specs/value.h"

namespace flowrun::plan {

namespace {

constexpr const char* what_is_a_scalar = "a number, a time or a bool";

}  // namespace

expr::scalar_values scalars_of(const graph& g, const node& n) {
  expr::scalar_values out;
  for (const scalar_row& row : n.scalars)
    for (const record::column& c : g.rows_of(row).type.columns())
      if (const auto type = expr::scalar_type(c.type)) out.push_back({row.name + "." + c.name, *type, 0});
  return out;
}

std::string readers_of_row(const graph& g, int taken_by) {
  std::vector<std::string> names;
  for (const node& n : g.nodes)
    if (!is_internal(n) &&
        std::any_of(n.scalars.begin(), n.scalars.end(), [&](const scalar_row& s) { return s.taken_by == taken_by; }))
      names.push_back("'" + n.id + "'");
  if (names.size() < 2) return names.empty() ? std::string() : names.front();
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

bool node_checker::has_scalars_of(const std::string& name) const {
  return std::any_of(node_.scalars.begin(), node_.scalars.end(), [&](const scalar_row& s) { return s.name == name; });
}

void node_checker::note_scalars(const specs::Value& text, const expr::scope& scope,
                                std::vector<expr::problem>& problems) {
  if (node_.scalars.empty()) return;
  for (const auto& [owner, column] : expr::mentioned(specs::text(text)).members) {
    const auto row = std::find_if(node_.scalars.begin(), node_.scalars.end(),
                                  [name = &owner](const scalar_row& s) { return s.name == *name; });
    if (row == node_.scalars.end()) continue;
    named_rows_.insert(owner);
    const std::string name = owner + "." + column;
    if (scope.row != nullptr && scope.row->index_of(name))
      problems.push_back({0,
                          fmt::format("'{}' is a column here, and a value of '{}'", name, owner),
                          "another name: scalars: {name: node}",
                          {}});
    const record::row_type& type = graph_.rows_of(*row).type;
    const auto found = type.index_of(column);
    if (found && !expr::scalar_type(type[*found].type))
      problems = {{0, fmt::format("'{}' is a text and no scalar", name), what_is_a_scalar,
                   "a join or a lookup brings texts to the rows"}};
  }
}

void node_checker::check_scalars_named() {
  for (const scalar_row& row : node_.scalars) {
    if (named_rows_.contains(row.name)) continue;
    std::vector<std::string> names;
    for (const expr::constant& c : own_scalars_)
      if (c.name.starts_with(row.name + ".")) names.push_back(c.name);
    add(row.spec->position(), fmt::format("no expression of '{}' names a value of '{}'", node_.id, row.name),
        names.empty() ? fmt::format("a row with {}", what_is_a_scalar) : "an expression with " + one_of(names),
        "remove it from scalars:");
  }
}

}  // namespace flowrun::plan
