#include "operators/parts/rules/added_columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "specs/value.h"

namespace flowrun::operators {

namespace {

constexpr const char* parameter = "rename";

bool has(const std::vector<record::column>& columns, const std::string& name) {
  return std::any_of(columns.begin(), columns.end(), [&](const record::column& c) { return c.name == name; });
}

// (column, its new name), as far as there are such columns.
std::vector<std::pair<std::string, std::string>> read_renames(plan::node_checker& node,
                                                              const std::vector<std::string>& keys) {
  std::vector<std::pair<std::string, std::string>> out;
  const specs::Value* const value = node.value(parameter);
  if (value == nullptr) return out;
  const record::row_type& type = node.input_type(1);
  for (const specs::Entry& entry : value->map().entries()) {
    const std::string& column = entry.key();
    if (!type.index_of(column))
      node.fault_at(entry.key_position(), fmt::format("'{}' has no column '{}'", node.input_name(1), column),
                    one_of(type.names()), did_you_mean(column, type.names()));
    else if (std::find(keys.begin(), keys.end(), column) != keys.end())
      node.fault_at(entry.key_position(),
                    fmt::format("'{}' is a key, which the output has from '{}'", column, node.input_name(0)),
                    "a column that is added");
    else
      out.emplace_back(column, specs::text(entry.value()));
  }
  return out;
}

// A name for a column of input 1 that no column has: "customers_name".
std::string free_name(const plan::node_checker& node, const std::string& column) {
  std::string prefix = node.input_name(1);
  for (char& c : prefix)
    if (c == '.' || c == '-') c = '_';
  std::string name = fmt::format("{}_{}", prefix, column);
  const std::string first = name;
  for (int i = 2; node.input_type(0).index_of(name) || node.input_type(1).index_of(name); ++i)
    name = fmt::format("{}_{}", first, i);
  return name;
}

void report_equal_names(plan::node_checker& node, const std::vector<std::string>& names, bool has_keys) {
  if (names.empty()) return;
  std::string renames;
  for (const std::string& name : names)
    renames += fmt::format("{}{}: {}", renames.empty() ? "" : ", ", name, free_name(node, name));
  const std::string& op = node.node().declaration->name;
  node.fault_at_input(
      1,
      fmt::format("both '{}' and '{}' have {} '{}'", node.input_name(0), node.input_name(1),
                  names.size() == 1 ? "a column" : "the columns", joined(names, "', '")),
      has_keys ? "distinct names, except for keys" : "distinct names",
      fmt::format("rename in the {}, with: {{rename: {{{}}}}}, or drop columns with a map in front of it", op,
                  renames));
}

}  // namespace

plan::parameter_declaration rename_parameter(std::string_view input) {
  return {.name = parameter,
          .kind = plan::parameter_kind::new_names,
          .help = fmt::format("Other names for columns of {}; the others keep theirs.", input)};
}

std::vector<std::pair<std::string, std::string>> add_columns(plan::node_checker& node,
                                                             const std::vector<std::string>& keys,
                                                             std::vector<record::column>& columns) {
  const std::vector<std::pair<std::string, std::string>> renames = read_renames(node, keys);
  const auto renamed = [&](const std::string& column) {
    return std::find_if(renames.begin(), renames.end(), [&](const auto& r) { return r.first == column; });
  };
  std::vector<std::pair<std::string, std::string>> names;
  std::vector<record::column> unchanged = columns;  // those whose names nothing changes: all others must differ
  std::vector<std::string> equal;
  for (const record::column& c : node.input_type(1).columns()) {
    if (std::find(keys.begin(), keys.end(), c.name) != keys.end()) continue;
    const auto rename = renamed(c.name);
    names.emplace_back(c.name, rename == renames.end() ? c.name : rename->second);
    if (rename != renames.end()) continue;
    if (node.input_type(0).index_of(c.name)) equal.push_back(c.name);
    unchanged.push_back(c);
  }
  report_equal_names(node, equal, !keys.empty());
  for (auto r = renames.begin(); r != renames.end(); ++r)
    if (has(unchanged, r->second) ||
        std::any_of(renames.begin(), r, [&](const auto& other) { return other.second == r->second; }))
      node.fault_at_parameter(fmt::format("{}.{}", parameter, r->first),
                              fmt::format("the output has a column '{}' already", r->second), "a name of its own");
  for (const auto& [name, new_name] : names)
    columns.push_back({new_name, node.input_type(1)[*node.input_type(1).index_of(name)].type});
  return names;
}

}  // namespace flowrun::operators
