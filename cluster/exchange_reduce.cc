// exchange.reduce and exchange.total: a reduce in two steps.
#include <utility>

#include "cluster/exchange_words.h"
#include "operators/parts/order/reduction.h"
#include "operators/parts/rules/estimates.h"

namespace flowrun::cluster {

namespace {

using operators::reduction;
using operators::reduction_step;

reduction check_parts(plan::node_checker& node) {
  reduction r = operators::read_reduction(node, node.input_type());
  if (!node.ok()) return r;
  record::row_type output = operators::partial_type(r);
  plan::row_estimate estimate = operators::exactly(1, output);
  estimate.exact = false;
  node.set_output(0, std::move(output), {}, estimate);
  return r;
}

exec::assembly build_parts(exec::build_context& c, const reduction& r) {
  return operators::build_reduction(c, r, reduction_step::parts);
}

reduction check_total(plan::node_checker& node) {
  const std::optional<record::row_type> rows = node.row_type("type");
  if (!node.ok() || !rows) return {};
  reduction r = operators::read_reduction(node, *rows);
  if (node.ok() && operators::partial_type(r) != node.input_type())
    node.fault_at_node("these are no partial results of such rows", "what exchange.reduce gives");
  if (!node.ok()) return r;
  record::row_type output = operators::result_type(r);
  const plan::row_estimate estimate = operators::exactly(1, output);
  node.set_output(0, std::move(output), {}, estimate);
  return r;
}

exec::assembly build_total(exec::build_context& c, const reduction& r) {
  return operators::build_reduction(c, r, reduction_step::total);
}

}  // namespace

const exec::operator_definition& exchange_reduce() {
  static const exec::operator_definition word = [] {
    plan::operator_declaration d;
    d.name = "exchange.reduce";
    d.summary = "Reduces the rows of a task to a row of partial results.";
    d.role = plan::operator_role::ordered;
    d.inputs = {{"in", "the rows to add up"}};
    d.outputs = {{"out", "one row, or none where there are no rows"}};
    d.parameters = operators::reduction_parameters();
    return exec::define<reduction>(std::move(d), check_parts, build_parts);
  }();
  return word;
}

const exec::operator_definition& exchange_total() {
  static const exec::operator_definition word = [] {
    plan::operator_declaration d;
    d.name = "exchange.total";
    d.summary = "Combines the partial results of all tasks.";
    d.role = plan::operator_role::ordered;
    d.reports = true;
    d.inputs = {{"in", "partial results, in the order of the stream"}};
    d.outputs = {{"out", "one row"}};
    d.output_optional = true;
    d.parameters = operators::reduction_parameters();
    d.parameters.push_back({.name = "type",
                            .kind = plan::parameter_kind::row_type,
                            .required = true,
                            .help = "Of the rows that were reduced."});
    return exec::define<reduction>(std::move(d), check_total, build_total);
  }();
  return word;
}

}  // namespace flowrun::cluster
