#include "operators/parts/text/written_missing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "engine/base/fault.h"

namespace flowrun::operators {

plan::parameter_declaration written_missing_parameter(const std::string& written) {
  plan::parameter_declaration out;
  out.name = "missing";
  out.kind = plan::parameter_kind::column_texts;
  out.help =
      "The bool column that tells whether a column's value is missing, as the sources give it: {amount: "
      "amount_missing}. Where it is true, " +
      written + " is written. The columns that tell are not written themselves.";
  return out;
}

written_missing read_written_missing(plan::node_checker& node, const std::vector<record::column>& columns) {
  const record::row_type& type = node.input_type();
  std::map<std::string, size_t, std::less<>> told;  // offsets by the column that is missing
  std::set<std::string, std::less<>> telling;
  const auto given = node.column_texts("missing", record::row_type(columns));
  for (const auto& [name, told_by] : given) {
    const std::string at = "missing." + name;
    const std::optional<size_t> found = type.index_of(told_by);
    if (!found) {
      node.fault_at_parameter(at, fmt::format("the rows have no column '{}'", told_by), one_of(type.names()),
                              did_you_mean(told_by, type.names()));
    } else if (type[*found].type.kind != record::type_kind::boolean) {
      node.fault_at_parameter(at, fmt::format("the column '{}' is {}", told_by, record::to_string(type[*found].type)),
                              fmt::format("a bool column, which tells where '{}' is missing", name),
                              "map can make one: x_missing: x == 0");
    } else if (std::any_of(given.begin(), given.end(),
                           [&by = told_by](const auto& other) { return other.first == by; })) {
      node.fault_at_parameter(
          at, fmt::format("the column '{}' tells what is missing, and can't be missing itself", told_by),
          "another bool column");
    } else {
      told[name] = type[*found].offset;
      telling.insert(told_by);
      node.facts().missing.push_back({name, told_by});
    }
  }
  written_missing out;
  for (const record::column& c : columns) {
    if (telling.contains(c.name)) continue;
    out.columns.push_back(c);
    if (telling.empty()) continue;
    const auto found = told.find(c.name);
    out.told_by.push_back(found == told.end() ? std::nullopt : std::optional(found->second));
  }
  return out;
}

}  // namespace flowrun::operators
