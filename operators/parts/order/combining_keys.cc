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

// "y, x": the keys and the value behind them, for a sort; "[y]" is what a group goes by. Keys that are computed have no
// column that another node could name.
struct order_of_distinct {
  std::string keys, with_value;
};
order_of_distinct order_for(const std::vector<plan::sort_key>& keys, const expr::expression& counted) {
  order_of_distinct out;
  for (const plan::sort_key& k : keys) out.keys += (out.keys.empty() ? "" : ", ") + name_of(k);
  out.with_value = out.keys + (out.keys.empty() ? "" : ", ") + (counted.as_column() ? counted.text() : "x");
  return out;
}

// Where an aggregate that goes by the order of rows stands beside count_distinct of `counted`. One that may have any
// order, as an average of floats, is made by a group behind a sort by the value; the first and last row of the input
// can't be had from rows in that order.
std::string way_beside_distinct(plan::node_checker& node, const std::vector<plan::sort_key>& keys,
                                const expr::aggregate& ordered, const expr::expression& counted) {
  const order_of_distinct order = order_for(keys, counted);
  if (!ordered.outside)
    return fmt::format(
        "another sort for it, and a join of both; or, where the row with the {} {} is meant, {{op: sort, with: {{by: "
        "[{}]}}}} and behind it {{op: group, with: {{by: [{}], let: …}}}} with both",
        ordered.kind == expr::aggregate_kind::first ? "least" : "greatest", counted.text(), order.with_value,
        order.keys);
  const bool computed = !counted.as_column() || !std::all_of(keys.begin(), keys.end(), is_whole_column);
  return fmt::format(
      "{}{{op: sort, in: {}, with: {{by: [{}]}}}}, and behind it {{op: group, with: {{by: [{}], let: …}}}} "
      "with both",
      computed ? "a map that makes columns of what is computed, then " : "",
      computed ? std::string("NODE") : node.input_name(0), order.with_value, order.keys);
}

void check_distinct(plan::node_checker& node, const std::vector<plan::sort_key>& keys,
                    const named_aggregates& aggregates) {
  const expr::expression* const counted = distinct_value(aggregates);
  if (counted == nullptr) return;
  for (const auto& [name, aggregate] : aggregates) {
    if (aggregate.is_distinct() && !are_same(*aggregate.argument, *counted))
      node.fault_at_parameter("combine." + name,
                              fmt::format("the sort puts equal values of '{}' together, and so not those of '{}'",
                                          counted->text(), aggregate.argument->text()),
                              "count_distinct of one value",
                              fmt::format("two sorts, each with one of them in combine, and {{op: join, in: {{left: A, "
                                          "right: B}}, with: {{by: [{}]}}}}; or "
                                          "approx_count_distinct({})",
                                          order_for(keys, *counted).keys, aggregate.argument->text()));
    if (aggregate.is_ordered())
      node.fault_at_parameter(
          "combine." + name,
          fmt::format("'{}' goes by the order of the input, and count_distinct sorts by '{}' behind the keys", name,
                      counted->text()),
          "aggregates that take any order", way_beside_distinct(node, keys, aggregate, *counted));
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
  check_distinct(node, keys, aggregates);
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
