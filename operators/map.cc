// map: new columns from expressions. Neighbouring maps and filters run as one program (decision D2).
#include "operators/parts/rules/estimates.h"
#include "operators/parts/rules/program.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

struct settings {
  named_expressions columns;
  void bind(const expr::scalar_values& values) { expr::bind(columns, values); }
};

settings check(plan::node_checker& node) {
  settings s{node.named_expressions("", expr::scope{.row = &node.input_type(), .row_number = true})};
  if (!node.ok()) return s;
  if (s.columns.empty()) {
    node.fault_at_node("a map needs at least one column", "with: {column: expression, …}",
                       "columns that are not named here are dropped");
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
      "`row_number` "
      "(the row's position, from 0). Columns that are not named are dropped. A bare column or a cast keeps its type; "
      "arithmetic gives u64, i64 or f64.";
  d.order = "keeps: the leading order columns that are carried over unchanged, under their new names";
  d.example = "back: {op: map, in: edges, with: {src: dst, dst: src, weight: \"u32(1 + (src ^ dst) % 100)\"}}\n";
  d.role = plan::operator_role::stateless;
  d.inputs = {{"in", "the rows to compute from"}};
  d.outputs = {{"out", "one row for each input row, in the same order"}};
  d.free_columns = true;
  d.keeps_row_count = true;
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
