// group: one row for each run of rows with equal keys, with aggregates of its rows (group_stages.h does the work).
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/fault.h"
#include "operators/parts/order/distinct_values.h"
#include "operators/parts/order/group_stages.h"
#include "operators/parts/order/sort_combine.h"
#include "operators/parts/rules/estimates.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

struct settings {
  std::vector<std::string> by;
  named_aggregates aggregates;
  void bind(const expr::scalar_values& values) { expr::bind(aggregates, values); }
};

settings read(plan::node_checker& node) {
  settings out;
  out.by = node.columns("by");
  if (node.has("let")) out.aggregates = node.aggregates("let", expr::scope{.row = &node.input_type()});
  return out;
}

// Instead of a sort in front: it writes one row of each key, where the aggregates can be taken apart.
std::string combining_sort(const plan::node_checker& node, const settings& s) {
  if (s.by.empty()) return {};  // a sort has keys
  const bool few = node.input_estimate().most_rows <= few_rows;
  const record::row_type& input = node.input_type();
  named_expressions keys;
  for (const std::string& k : s.by) keys.emplace_back(k, expr::column_expression(input, *input.index_of(k)));
  for (const auto& [name, aggregate] : s.aggregates) {
    if (!aggregate.is_distinct()) continue;
    if (keys.size() > s.by.size()) return {};  // a sort counts the different values of one column
    keys.emplace_back("(value)", *aggregate.argument);
  }
  if (s.aggregates.empty() || !plan_partial_results(input, keys, s.aggregates, few)) return {};
  return fmt::format(
      "cheaper, let a sort do both:  {}: {{op: sort, in: {}, with: {{by: [{}], combine: …}}}}  with what is in 'let'",
      node.node().id, node.input_name(0), joined(s.by, ", "));
}

settings check(plan::node_checker& node) {
  settings s = read(node);
  if (!node.ok()) return s;
  const record::row_type& input = node.input_type();
  std::vector<std::pair<std::string, std::string>> kept;
  for (const std::string& k : s.by) kept.emplace_back(k, k);
  for (const auto& [name, aggregate] : s.aggregates)
    if (std::find(s.by.begin(), s.by.end(), name) != s.by.end())
      node.fault_at_parameter("let." + name, fmt::format("'{}' is a key of the group", name), "a name of its own");
  if (s.by.empty() && s.aggregates.empty())
    node.fault_at_node("a group needs keys or aggregates", "by: [column, …] or let: {name: aggregate, …}");
  require_equal_values_together(node, "let", s.by, s.aggregates, combining_sort(node, s));
  if (!s.by.empty() && node.ok()) node.require_adjacent(0, s.by, combining_sort(node, s), has_ordered(s.aggregates));
  if (!node.ok()) return s;
  std::vector<record::column> keys;
  for (const std::string& k : s.by) keys.push_back(input[*input.index_of(k)]);
  record::row_type output = group_type(std::move(keys), s.aggregates);
  plan::row_estimate estimate =
      s.by.empty() ? exactly(1, output) : at_most(with_type(node.input_estimate(), input, output));
  node.set_output(0, std::move(output), plan::carried_over(node.input_order(), kept), estimate);
  return s;
}

exec::assembly build(exec::build_context& c, const settings& s) {
  exec::assembly out;
  add_group_stages(out, c.input_type(), s.by, s.aggregates, c.output_type(), c.job.pool(), c.batches);
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"group">() {
  plan::operator_declaration d;
  d.name = "group";
  d.summary = "Makes one row of each group of rows with equal keys.";
  d.details =
      "Rows of a group must follow each other, as they do behind a sort by the keys (in any sequence). The output has "
      "the keys, then the aggregates of `let`: count(), sum(x), avg(x), min(x), max(x), first(x), last(x), "
      "variance(x), stddev(x), count_distinct(x), approx_count_distinct(x), approx_quantile(x, q), where x is any "
      "expression. sum gives u64, i64 or f64 and wraps around; min and max go by the order that a sort uses; first and "
      "last go by the order of the input. count_distinct takes a column, and rows with equal keys and equal values of "
      "it have to follow each other: behind a sort by the keys and then the column they do.\n\n"
      "With `by: []` the whole input is one group, and the output has exactly one row, also for an empty input (0 and "
      "empty text then).";
  d.order = "needs: equal keys adjacent; keeps: the leading order columns that are keys";
  d.example = "degree: {op: group, in: sorted, with: {by: [src], let: {deg: \"count()\", far: \"max(dst)\"}}}\n";
  d.role = plan::operator_role::ordered;
  d.division = plan::operator_division::keys;
  d.inputs = {{"in", "rows with equal keys next to each other"}};
  d.outputs = {{"out", "one row per group, in the order of the groups"}};
  d.parameters = {
      {.name = "by",
       .kind = plan::parameter_kind::columns,
       .required = true,
       .help = "The keys of a group; [] for all rows."},
      {.name = "let",
       .kind = plan::parameter_kind::aggregates,
       .help = "The aggregates to add: {name: \"count()\" or sum, min, max, first, last of an expression}."}};
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
