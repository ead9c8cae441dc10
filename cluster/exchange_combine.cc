// exchange.combine and exchange.combined: a sort that combines, in two steps.
#include <fmt/format.h>

#include <utility>

#include "cluster/exchange_words.h"
#include "operators/parts/order/combining_keys.h"
#include "operators/parts/order/group_stages.h"
#include "operators/parts/order/sort_stages.h"
#include "operators/parts/order/sorting.h"
#include "operators/parts/rules/estimates.h"

namespace flowrun::cluster {

namespace {

using operators::sorted_rows;

struct settings {
  operators::sorting sorting;
  record::row_type rows;  // that are combined
  void bind(const expr::scalar_values& values) { sorting.bind(values); }
};

settings read(plan::node_checker& node, record::row_type rows) {
  settings s;
  s.sorting = operators::read_sorting(node, rows, false);
  s.rows = std::move(rows);
  return s;
}

// The faults of a sort are told before its job becomes tasks; what is left is a task of another program.
std::optional<sorted_rows> checked_rows(plan::node_checker& node, const settings& s) {
  if (!node.ok()) return std::nullopt;
  std::optional<sorted_rows> out = operators::partial_rows(s.rows, s.sorting);
  if (!out) node.fault_at_node("this sort can't be done in two steps", "aggregates that combine");
  return out;
}

settings check_parts(plan::node_checker& node) {
  settings s = read(node, node.input_type());
  const std::optional<sorted_rows> rows = checked_rows(node, s);
  if (!rows) return s;
  operators::note_sort_facts(node, s.sorting, *rows);
  const plan::row_estimate estimate =
      operators::at_most(operators::with_type(node.input_estimate(), node.input_type(), rows->type));
  node.set_output(0, rows->type, operators::order_of_partial_rows(*rows, s.sorting), estimate);
  return s;
}

exec::assembly build_parts(exec::build_context& c, const settings& s) {
  const sorted_rows rows = operators::partial_rows(s.rows, s.sorting).value();
  if (c.is_intake()) return operators::build_run_creation(c, s.sorting, rows);
  exec::assembly out;
  operators::add_merge(out, c, operators::merger_settings(s.sorting, rows), s.sorting.compress);
  return out;
}

settings check_combined(plan::node_checker& node) {
  const std::optional<record::row_type> given = node.row_type("type");
  if (!node.ok() || !given) return {};
  settings s = read(node, *given);
  const std::optional<sorted_rows> rows = checked_rows(node, s);
  if (!rows) return s;
  if (rows->type != node.input_type())
    node.fault_at_node("these are no partial results of such rows", "what exchange.combine gives");
  node.require_order(0, operators::order_of_partial_rows(*rows, s.sorting));
  if (!node.ok()) return s;
  record::row_type output = operators::group_type(operators::key_columns(s.sorting.keys), s.sorting.combine);
  plan::row_estimate estimate =
      operators::at_most(operators::with_type(node.input_estimate(), node.input_type(), output));
  if (s.sorting.limit > 0) estimate = operators::limited(estimate, s.sorting.limit, output);
  node.set_output(0, std::move(output), operators::order_of(s.sorting), estimate);
  return s;
}

exec::assembly build_combined(exec::build_context& c, const settings& s) {
  exec::assembly out;
  operators::add_combining(out, c, s.sorting, operators::partial_rows(s.rows, s.sorting).value());
  return out;
}

}  // namespace

const exec::operator_definition& exchange_combine() {
  static const exec::operator_definition word = [] {
    plan::operator_declaration d;
    d.name = "exchange.combine";
    d.summary = "Sorts the rows of a task into partial results, of which there are few for each key.";
    d.role = plan::operator_role::breaker;
    d.inputs = {{"in", "the rows to sort"}};
    d.outputs = {{"out", "partial results, sorted by their keys"}};
    d.parameters = operators::sorting_parameters();
    d.memory = operators::sort_memory;
    return exec::define<settings>(std::move(d), check_parts, build_parts);
  }();
  return word;
}

const exec::operator_definition& exchange_combined() {
  static const exec::operator_definition word = [] {
    plan::operator_declaration d;
    d.name = "exchange.combined";
    d.summary = "Makes one row of each key, of the partial results of all tasks.";
    d.role = plan::operator_role::ordered;
    d.inputs = {{"in", "partial results, sorted by their keys"}};
    d.outputs = {{"out", "one row of each key"}};
    d.parameters = operators::sorting_parameters();
    d.parameters.push_back({.name = "type",
                            .kind = plan::parameter_kind::row_type,
                            .required = true,
                            .help = "Of the rows that were sorted."});
    return exec::define<settings>(std::move(d), check_combined, build_combined);
  }();
  return word;
}

}  // namespace flowrun::cluster
