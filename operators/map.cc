// map: new columns from expressions. Neighbouring maps and filters run as one program (decision D2).
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/fault.h"
#include "operators/parts/rules/estimates.h"
#include "operators/parts/rules/program.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

struct settings {
  named_expressions columns;
  void bind(const expr::scalar_values& values) { expr::bind(columns, values); }
};

constexpr const char* all_columns = "*";

// The columns that "all but a, b" leaves out.
std::vector<std::string> columns_left_out(plan::node_checker& node) {
  std::string text = node.text(all_columns);
  constexpr std::string_view all = "all", but = "all but ";
  if (text == all) return {};
  std::vector<std::string> out;
  if (!text.starts_with(but)) {
    node.fault_at_parameter(all_columns, fmt::format("'{}' says nothing about columns", text),
                            "all, or all but COLUMN, COLUMN, …");
    return out;
  }
  const std::vector<std::string> names = node.input_type().names();
  for (size_t at = but.size(); at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const size_t from = std::min(text.find_first_not_of(' ', at), end), last = text.find_last_not_of(' ', end - 1);
    const std::string column = from < end ? text.substr(from, last + 1 - from) : std::string();
    if (!node.input_type().index_of(column))
      node.fault_at_parameter(all_columns, fmt::format("'{}' has no column '{}'", node.input_name(0), column),
                              one_of(names), did_you_mean(column, names));
    out.push_back(column);
    at = end + 1;
  }
  return out;
}

// All columns of the input; those that are computed stand in the place of theirs, or behind all.
named_expressions with_all_columns(plan::node_checker& node, named_expressions computed) {
  const record::row_type& input = node.input_type();
  const std::vector<std::string> left_out = columns_left_out(node);
  named_expressions out;
  for (size_t i = 0; i < input.num_columns(); ++i) {
    const std::string& name = input[i].name;
    if (std::find(left_out.begin(), left_out.end(), name) != left_out.end()) continue;
    const auto own = std::find_if(computed.begin(), computed.end(), [&](const auto& c) { return c.first == name; });
    if (own == computed.end()) {
      out.emplace_back(name, expr::column_expression(input, i));
    } else {
      out.push_back(std::move(*own));
      computed.erase(own);
    }
  }
  for (auto& column : computed) out.push_back(std::move(column));
  return out;
}

settings check(plan::node_checker& node) {
  settings s{node.named_expressions("", expr::scope{.row = &node.input_type(), .row_number = true})};
  if (node.has(all_columns)) s.columns = with_all_columns(node, std::move(s.columns));
  if (!node.ok()) return s;
  if (s.columns.empty()) {
    node.fault_at_node("a map needs at least one column", "with: {column: expression, …}",
                       "columns that are not named here are dropped, unless \"*\": all keeps them");
    return s;
  }
  const record::row_type& input = node.input_type();
  record::row_type output = type_of(s.columns);
  const plan::row_estimate estimate = with_type(node.input_estimate(), input, output);
  node.set_output(0, std::move(output), plan::carried_over(node.input_order(), renamed(s.columns, input)), estimate);
  return s;
}

exec::assembly build(exec::build_context& c, const settings& s) {
  exec::assembly out;
  out.stages.push_back(make_program(c.input_type(), {program_step::map(s.columns)}, c.job.pool()));
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"map">() {
  plan::operator_declaration d;
  d.name = "map";
  d.summary = "Replaces each row by columns computed from it.";
  d.details =
      "Every key under `with:` is a column of the output, its value an expression over the input's columns and "
      "`row_number` (the row's position, from 0). Columns that are not named are dropped, unless \"*\" keeps them. A "
      "bare column or a cast keeps its type; arithmetic gives u64, i64 or f64.";
  d.order = "keeps: the leading order columns that are carried over unchanged, under their new names";
  d.example = "back: {op: map, in: edges, with: {src: dst, dst: src, weight: \"u32(1 + (src ^ dst) % 100)\"}}\n";
  d.role = plan::operator_role::stateless;
  d.inputs = {{"in", "the rows to compute from"}};
  d.outputs = {{"out", "one row for each input row, in the same order"}};
  d.free_columns = true;
  d.parameters = {
      {.name = all_columns,
       .kind = plan::parameter_kind::text,
       .help =
           "All columns of the input: all, or all but COLUMN, COLUMN, …. A column that is named beside it is computed "
           "in its place, other ones come behind. {\"*\": all but old, new: old} renames a column."}};
  d.keeps_row_count = true;
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
