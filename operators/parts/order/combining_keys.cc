#include "operators/parts/order/combining_keys.h"

#include <fmt/format.h>

#include <algorithm>

namespace flowrun::operators {

bool is_whole_column(const plan::sort_key& key) { return key.term && key.term->length == 0; }

std::string name_of(const plan::sort_key& key) {
  if (!key.name.empty()) return key.name;
  return is_whole_column(key) ? key.term->column : std::string();
}

const expr::expression* distinct_value(const named_aggregates& aggregates) {
  for (const auto& [name, aggregate] : aggregates)
    if (aggregate.is_distinct()) return &*aggregate.argument;
  return nullptr;
}

namespace {

bool are_same(const expr::expression& a, const expr::expression& b) {
  const auto column = a.as_column();
  return column ? column == b.as_column() : a.text() == b.text();
}

void check_distinct(plan::node_checker& node, const named_aggregates& aggregates) {
  const expr::expression* const counted = distinct_value(aggregates);
  if (counted == nullptr) return;
  for (const auto& [name, aggregate] : aggregates) {
    if (aggregate.is_distinct() && !are_same(*aggregate.argument, *counted))
      node.fault_at_parameter("combine." + name,
                              fmt::format("the sort puts equal values of '{}' together, and so not those of '{}'",
                                          counted->text(), aggregate.argument->text()),
                              "count_distinct of one value",
                              "another sort for it, and a join of both; or approx_count_distinct(x)");
    if (aggregate.is_ordered())
      node.fault_at_parameter(
          "combine." + name,
          fmt::format("'{}' goes by the order of the input, and count_distinct sorts by '{}' behind the keys", name,
                      counted->text()),
          "aggregates that take any order", "another sort for it, and a join of both");
  }
}

}  // namespace

void check_combining_keys(plan::node_checker& node, const std::vector<plan::sort_key>& keys,
                          const named_aggregates& aggregates) {
  std::vector<std::string> names;
  for (const plan::sort_key& k : keys) {
    const std::string name = name_of(k);
    if (name.empty())
      node.fault_at(k.position, fmt::format("'{}' has no name to come out under", k.value.text()),
                    "a column, or a key with a name: {name: \"expression\"}");
    else if (std::find(names.begin(), names.end(), name) != names.end())
      node.fault_at(k.position, fmt::format("'{}' is a key twice", name), {},
                    k.name.empty() ? "leave out the second one" : "a name of its own");
    names.push_back(name);
  }
  for (const auto& [name, aggregate] : aggregates)
    if (std::find(names.begin(), names.end(), name) != names.end())
      node.fault_at_parameter("combine." + name, fmt::format("'{}' is a key of the sort", name), "a name of its own");
  check_distinct(node, aggregates);
}

void refuse_named_keys(plan::node_checker& node, const std::vector<plan::sort_key>& keys) {
  for (const plan::sort_key& k : keys)
    if (!k.name.empty())
      node.fault_at(k.position,
                    fmt::format("'{}' names a key, and a sort without combine gives the rows as they are", k.name),
                    "the key alone", "a map in front of the sort adds it as a column");
}

named_expressions key_expressions(const std::vector<plan::sort_key>& keys) {
  named_expressions out;
  for (const plan::sort_key& k : keys) out.emplace_back(name_of(k), k.value);
  return out;
}

std::vector<record::column> key_columns(const std::vector<plan::sort_key>& keys) {
  std::vector<record::column> out;
  for (const plan::sort_key& k : keys) out.push_back({name_of(k), k.value.type()});
  return out;
}

}  // namespace flowrun::operators
