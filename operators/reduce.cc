// reduce: one row of aggregates over a whole stream (parts/order/reduction.h).
#include <utility>

#include "operators/parts/order/distinct_values.h"
#include "operators/parts/order/reduction.h"
#include "operators/parts/rules/estimates.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

reduction check(plan::node_checker& node) {
  reduction r = read_reduction(node, node.input_type());
  if (!node.ok()) return r;
  require_equal_values_together(node, "let", {}, r.aggregates);
  record::row_type output = result_type(r);
  if (output.num_columns() == 0)
    node.fault_at_node("a reduce needs aggregates", "let: {name: aggregate, …} or hash: true");
  if (!node.ok()) return r;
  const plan::row_estimate estimate = exactly(1, output);
  node.set_output(0, std::move(output), {}, estimate);
  return r;
}

exec::assembly build(exec::build_context& c, const reduction& r) {
  return build_reduction(c, r, reduction_step::whole);
}

}  // namespace

template <>
exec::operator_definition word<"reduce">() {
  plan::operator_declaration d;
  d.name = "reduce";
  d.summary = "Reduces a stream to one row of aggregates.";
  d.details =
      "The aggregates are those of group: count(), sum(x), avg(x), min(x), max(x), first(x), last(x), variance(x), "
      "stddev(x), count_distinct(x), approx_count_distinct(x), approx_quantile(x, q). count_distinct takes a column by "
      "which the input is sorted. With `hash: true` two columns hash_low and hash_high are added: a 128-bit hash of "
      "the rows that doesn't depend on their order, to compare two streams. The values also appear in the run report, "
      "so the output need not be used. An empty input gives 0 and empty text, and NaN for a mean.";
  d.order = "needs: none; gives: one row";
  d.example = "totals: {op: reduce, in: edges, with: {let: {edges: \"count()\", largest: \"max(dst)\"}, hash: true}}\n";
  d.role = plan::operator_role::ordered;
  d.reports = true;
  d.inputs = {{"in", "the rows to add up"}};
  d.outputs = {{"out", "one row"}};
  d.output_optional = true;
  d.parameters = reduction_parameters();
  return exec::define<reduction>(std::move(d), check, build);
}

}  // namespace flowrun::operators
