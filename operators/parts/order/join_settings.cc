#include "operators/parts/order/join_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/expr/conversion.h"
#include "operators/parts/rules/added_columns.h"
#include "operators/parts/rules/estimates.h"

namespace flowrun::operators {

namespace {

join_kind kind_of(const std::string& text) {
  if (text == "left") return join_kind::left;
  if (text == "full") return join_kind::full;
  if (text == "semi") return join_kind::semi;
  if (text == "anti") return join_kind::anti;
  return join_kind::inner;
}

// Left may be sorted by the keys in any sequence and direction; right must then be sorted the same way. Where left is
// not sorted by them, the plain order is what the fault message will ask for.
plan::order left_order(const plan::order& have, const std::vector<std::pair<std::string, std::string>>& by) {
  const auto is_key = [&](const plan::order_term& t) {
    return t.length == 0 && std::any_of(by.begin(), by.end(), [&](const auto& pair) { return pair.first == t.column; });
  };
  if (have.size() >= by.size()) {
    const auto end = have.begin() + static_cast<std::ptrdiff_t>(by.size());
    std::set<std::string> names;  // where one stands there twice, another key doesn't
    for (auto term = have.begin(); term != end; ++term) names.insert(term->column);
    if (names.size() == by.size() && std::all_of(have.begin(), end, is_key)) return {have.begin(), end};
  }
  plan::order out;
  for (const auto& [left, right] : by) out.push_back({left, false});
  return out;
}

// The settings, before anything is checked.
join_settings read_join(plan::node_checker& node) {
  join_settings out;
  out.by = node.column_pairs("by");
  out.kind = kind_of(node.text("kind"));
  if (node.has("matched")) out.matched = node.text("matched");
  out.skip = node.boolean("skip");
  out.left_order = left_order(node.input_order(0), out.by);
  for (const plan::order_term& t : out.left_order) {
    const auto pair = std::find_if(out.by.begin(), out.by.end(), [&](const auto& p) { return p.first == t.column; });
    out.right_order.push_back({pair->second, t.descending});
  }
  return out;
}

}  // namespace

bool join_settings::is_right_key(const std::string& column) const {
  return std::any_of(by.begin(), by.end(), [&](const auto& pair) { return pair.second == column; });
}

std::vector<plan::parameter_declaration> join_parameters() {
  return {
      {.name = "by",
       .kind = plan::parameter_kind::column_pairs,
       .required = true,
       .help = "The keys: columns that both inputs have, or a map {column of left: column of right}."},
      {.name = "kind",
       .kind = plan::parameter_kind::choice,
       .default_text = "inner",
       .choices = {"inner", "left", "full", "semi", "anti"},
       .help = "Which rows the output has."},
      rename_parameter("right"),
      {.name = "matched",
       .kind = plan::parameter_kind::new_column,
       .help =
           "Name of a u8 column to add: 1 for a row of left only, 2 of right only, 3 of both; not with semi and anti."},
      {.name = "skip",
       .kind = plan::parameter_kind::boolean,
       .default_text = "false",
       .help = "Stores the right rows with an index, unless they are a file that has one, and reads only where left "
               "keys are; not for kind: full."},
  };
}

join_settings check_join(plan::node_checker& node) {
  join_settings s = read_join(node);
  const record::row_type& left = node.input_type(0);
  const record::row_type& right = node.input_type(1);
  if (node.ok() && s.by.empty()) node.fault_at_parameter("by", "a join needs at least one key", "[column, …]");
  for (const auto& [l, r] : s.by) {
    const record::value_type left_type = left[*left.index_of(l)].type;
    const record::value_type right_type = right[*right.index_of(r)].type;
    const expr::one_type one = expr::one_type_of(l, left_type, r, right_type);
    if (left_type != right_type)
      node.fault_at_parameter("by",
                              fmt::format("'{}' is {} on the left, '{}' is {} on the right", l, to_string(left_type), r,
                                          to_string(right_type)),
                              "keys of the same type",
                              fmt::format("put a map with \"*\": all and {} in front of the sort of {}", one.columns,
                                          one.of_a && one.of_b ? "each input"
                                          : one.of_a           ? "the left input"
                                                               : "the right input"));
  }
  if (s.skip && s.kind == join_kind::full)
    node.fault_at_parameter("skip", "a full join gives every right row, so none can be skipped",
                            "kind: inner, left, semi or anti");
  if (!node.ok()) return s;
  if (s.skip) {
    node.store_input(1, true);
    const plan::node& right_node = node.owner().nodes[static_cast<size_t>(node.node().inputs[1].from_node)];
    if (right_node.role() == plan::operator_role::source) node.facts().seeks_in_file = right_node.facts.index;
  }
  node.require_order(0, s.left_order);
  node.require_order(1, s.right_order);
  std::vector<record::column> columns = left.columns();
  if (s.gives_right_columns()) {
    std::vector<std::string> keys;
    for (const auto& [l, r] : s.by) keys.push_back(r);
    add_columns(node, keys, columns);
  } else {
    for (const char* name : {"matched", "rename"})
      if (node.has(name))
        node.fault_at_parameter(name, "semi and anti joins give rows of left only", fmt::format("no `{}` here", name));
  }
  if (!s.matched.empty()) {
    if (std::any_of(columns.begin(), columns.end(), [&](const record::column& c) { return c.name == s.matched; }))
      node.fault_at_parameter("matched", fmt::format("the output has a column '{}' already", s.matched),
                              "a name of its own");
    columns.push_back({s.matched, record::value_type::of(record::type_kind::u8)});
  }
  if (!node.ok()) return s;
  const record::row_type output(std::move(columns));
  plan::row_estimate estimate;
  if (!s.gives_right_columns()) {
    estimate = at_most(node.input_estimate(0));
  } else {
    // Where a key repeats on both sides, its rows multiply. How often can't be known before the run, so nothing is
    // estimated.
    estimate = plan::row_estimate{};
  }
  node.set_output(0, output, s.kind == join_kind::full ? s.left_order : node.input_order(0), estimate);
  return s;
}

}  // namespace flowrun::operators
