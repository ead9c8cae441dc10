#include "operators/parts/rules/scan_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/expr/conversion.h"
#include "operators/parts/rules/estimates.h"

namespace flowrun::operators {

namespace {

using record::type_kind;

// The type that a sum of such numbers has.
record::value_type sum_type(const record::value_type& type) {
  if (type.is_decimal()) return type;
  return record::value_type::of(type.is_float() ? type_kind::f64 : type.is_signed() ? type_kind::i64 : type_kind::u64);
}

void read_state(plan::node_checker& node, scan_settings& s) {
  for (auto& [name, value] : node.named_expressions("state", expr::scope{})) {
    if (!value.is_constant())
      node.fault_at_parameter("state." + name, fmt::format("'{}' is not a constant", value.text()),
                              "a value such as 0 or u32(1)");
    s.state.push_back({name, value.type()});
    s.initial.push_back(std::move(value));
  }
  const expr::scope scope{.row = &node.input_type(), .row_number = true, .state = s.state};
  if (node.has("set")) s.updates = node.named_expressions("set", scope);
  for (auto& [name, value] : s.updates) {
    const auto variable =
        std::find_if(s.state.begin(), s.state.end(), [&, n = &name](const auto& v) { return v.name == *n; });
    if (variable == s.state.end()) {
      std::vector<std::string> names;
      for (const expr::variable& v : s.state) names.push_back(v.name);
      node.fault_at_parameter("set." + name, fmt::format("'{}' is not a variable of `state`", name), one_of(names),
                              did_you_mean(name, names));
    } else if (auto converted = value.converted_to(variable->type)) {
      value = *std::move(converted);
    } else {
      const expr::problem why = expr::conversion_problem(value, variable->type);
      const expr::expression& initial = s.initial[static_cast<size_t>(variable - s.state.begin())];
      const std::string wider = expr::widening_hint(initial, value, "in `state`");
      node.fault_at_parameter("set." + name,
                              fmt::format("{}, the state '{}' is {}", why.message, name, to_string(variable->type)),
                              why.expected, wider.empty() ? why.hint : wider);
    }
  }
  if (node.has("when")) s.when = node.condition("when", scope);
  if (node.has("emits")) {
    s.rows = read_row_entries(node, "emits", scope);
    return;
  }
  if (node.has("emit")) {
    s.emit = node.named_expressions("emit", scope);
    return;
  }
  // Without emit: the row and the variables.
  s.emit = identity(node.input_type());
  for (const expr::variable& v : s.state) {
    if (node.input_type().index_of(v.name)) {
      node.fault_at_parameter("state." + v.name, fmt::format("the input has a column '{}'", v.name),
                              "a name of its own, or `emit` with the columns wanted");
      continue;
    }
    if (expr::compiled c = expr::compile(v.name, scope); c.value) s.emit.emplace_back(v.name, *std::move(c.value));
  }
}

void read_shorthands(plan::node_checker& node, scan_settings& s) {
  if (node.has("number")) s.number = node.text("number");
  for (const bool dense : {true, false})
    for (auto& [name, columns] : node.named_columns(dense ? "dense_rank" : "min_rank"))
      s.ranks.push_back({name, std::move(columns), dense});
  if (!node.has("prefix_sum")) return;
  for (auto& [name, value] :
       node.named_expressions("prefix_sum", expr::scope{.row = &node.input_type(), .row_number = true})) {
    if (!value.type().is_number() && !value.type().is_decimal()) {
      node.fault_at_parameter(
          "prefix_sum." + name, fmt::format("'{}' is {}", value.text(), to_string(value.type())), "a number",
          value.type().is_time()      ? fmt::format("write date_diff('second', from, to), or to_i64({})", value.text())
          : value.type().is_boolean() ? fmt::format("write u8({}) to count", value.text())
                                      : fmt::format("write to_f64({})", value.text()));
      continue;
    }
    s.sums.emplace_back(name, *value.converted_to(sum_type(value.type())));
  }
}

// The order that all emitted rows carry over, and how many there can be.
void set_emitted_output(plan::node_checker& node, const scan_settings& s) {
  const record::row_type& input = node.input_type();
  const named_expressions& first = s.rows.empty() ? s.emit : s.rows[0].columns;
  if (first.empty()) {
    const std::string parameter = s.rows.empty() ? "emit" : "emits";
    node.fault_at_parameter(parameter, "a row needs at least one column", "{column: expression, …}");
    return;
  }
  plan::order sorted_by =
      plan::carried_over(node.input_order(), s.rows.empty() ? renamed(first, input) : renamed_by_all(s.rows, input));
  record::row_type output = type_of(first);
  plan::row_estimate estimate = with_type(node.input_estimate(), input, output);
  const bool drops =
      s.when || std::any_of(s.rows.begin(), s.rows.end(), [](const row_entry& e) { return e.condition.has_value(); });
  if (!s.rows.empty()) estimate = times(estimate, s.rows.size());
  if (drops) estimate = at_most(estimate);
  // Not row by row, so not in step with other branches: see operator_declaration::keeps_row_count.
  if (drops || s.rows.size() > 1) node.facts().rows_behind = 1;
  node.set_output(0, std::move(output), std::move(sorted_by), estimate);
}

scan_settings read_scan(plan::node_checker& node) {
  scan_settings s;
  read_shorthands(node, s);
  s.exclusive = node.boolean("exclusive");
  if (node.has("reset")) s.reset = node.columns("reset");
  if (node.has("state")) read_state(node, s);
  return s;
}

}  // namespace

std::vector<plan::parameter_declaration> scan_parameters() {
  using plan::parameter_kind;
  return {
      {.name = "state",
       .kind = parameter_kind::named_expressions,
       .help = "The variables with their initial values, constants."},
      {.name = "set",
       .kind = parameter_kind::named_expressions,
       .help = "For each row, in this order: {variable: expression over the row and the variables}."},
      {.name = "emit",
       .kind = parameter_kind::named_expressions,
       .help = "The columns of the output, after the updates; by default the input's columns, then the variables."},
      {.name = "when",
       .kind = parameter_kind::condition,
       .help = "Emits only for rows where this holds, a condition over the row and the variables after the updates."},
      {.name = "emits",
       .kind = parameter_kind::expression_rows,
       .help =
           "In place of `emit`, several rows for each row: one map {column: expression} each; `when` in a map makes "
           "it conditional."},
      {.name = "reset",
       .kind = parameter_kind::columns,
       .help = "Starts anew, as at the first row, whenever one of these columns changes."},
      {.name = "number",
       .kind = parameter_kind::new_column,
       .help = "Shorthand: adds a u64 column with the row's number, from 0."},
      {.name = "prefix_sum",
       .kind = parameter_kind::named_expressions,
       .help = "Shorthand: adds columns with the sum of an expression over all rows up to this one."},
      {.name = "dense_rank",
       .kind = parameter_kind::named_columns,
       .help = "Shorthand: adds u64 columns {name: [column, …]} with the number of different values these columns had "
               "before, where equal values are adjacent: 0, 0, 1, 1, 2."},
      {.name = "min_rank",
       .kind = parameter_kind::named_columns,
       .help = "Shorthand: the same with the number of the first row that has the value: 0, 0, 2, 2, 4."},
      {.name = "exclusive",
       .kind = parameter_kind::boolean,
       .default_text = "false",
       .help = "Prefix sums leave the row itself out: the first one is 0."},
  };
}

scan_settings check_scan(plan::node_checker& node) {
  const auto any_of = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* name) { return node.has(name); });
  };
  const bool general = any_of({"state", "set", "emit", "emits", "when"});
  const bool shorthand = any_of({"number", "prefix_sum", "dense_rank", "min_rank"});
  if (general == shorthand) {
    node.fault_at_node(general ? "a scan has either state or shorthands" : "a scan needs something to do",
                       "state with set and emit, or number, prefix_sum, dense_rank and min_rank",
                       general ? "use two scans, one behind the other" : "");
    return {};
  }
  if (general && !node.has("state")) {
    node.fault_at_node("set, emit, emits and when need `state`", "state: {variable: initial value, …}",
                       node.has("set") ? "" : "a map computes columns without state");
    return {};
  }
  if (node.boolean("exclusive") && !node.has("prefix_sum"))
    node.fault_at_parameter("exclusive", "there is no prefix sum that it could change", "`prefix_sum` with it");
  if (node.has("emit") && node.has("emits"))
    node.fault_at_parameter("emits", "a scan has either emit or emits", "one of them",
                            "write the one row as an entry of `emits`");
  scan_settings s = read_scan(node);
  for (const scan_settings::rank& r : s.ranks)
    if (r.columns.empty() && node.ok())
      node.fault_at_parameter((r.dense ? "dense_rank." : "min_rank.") + r.name, "a rank needs columns to look at",
                              "[column, …]");
  if (!node.ok()) return s;
  const record::row_type& input = node.input_type();
  if (!s.is_shorthand()) {
    set_emitted_output(node, s);
    return s;
  }
  std::vector<record::column> columns = input.columns();
  const auto add = [&](const std::string& parameter, const std::string& name, record::value_type type) {
    if (std::any_of(columns.begin(), columns.end(), [&](const record::column& c) { return c.name == name; }))
      node.fault_at_parameter(parameter, fmt::format("there is a column '{}' already", name), "a name of its own");
    columns.push_back({name, type});
  };
  if (!s.number.empty()) add("number", s.number, record::value_type::of(type_kind::u64));
  for (const auto& [name, value] : s.sums) add("prefix_sum." + name, name, value.type());
  for (const scan_settings::rank& r : s.ranks)
    add((r.dense ? "dense_rank." : "min_rank.") + r.name, r.name, record::value_type::of(type_kind::u64));
  if (!node.ok()) return s;
  // Nothing known of the input's order, and no reset: the numbers are an order.
  plan::order sorted_by = node.input_order();
  if (sorted_by.empty() && s.reset.empty() && !(s.number.empty() && s.ranks.empty()))
    sorted_by = {{s.number.empty() ? s.ranks.front().name : s.number, false}};
  record::row_type output(std::move(columns));
  const plan::row_estimate estimate = with_type(node.input_estimate(), input, output);
  node.set_output(0, std::move(output), std::move(sorted_by), estimate);
  return s;
}

}  // namespace flowrun::operators
