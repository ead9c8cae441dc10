// filter: keeps the rows for which a condition holds. Neighbouring maps and filters run as one program (decision D2).
#include "operators/parts/rules/estimates.h"
#include "operators/parts/rules/program.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

struct settings {
  std::optional<expr::expression> where;
  void bind(const expr::scalar_values& values) { expr::bind(where, values); }
};

settings check(plan::node_checker& node) {
  node.pass_rows_on(at_most(node.input_estimate()));
  return {node.condition("where", expr::scope{.row = &node.input_type(), .row_number = true})};
}

exec::assembly build(exec::build_context& c, const settings& s) {
  exec::assembly out;
  out.stages.push_back(make_program(c.input_type(), {program_step::filter(*s.where)}, c.job.pool()));
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"filter">() {
  plan::operator_declaration d;
  d.name = "filter";
  d.summary = "Keeps the rows for which a condition holds.";
  d.details = "The condition is of type bool; `row_number` is the row's position in the input, from 0.";
  d.order = "keeps: the input's order";
  d.example = "proper: {op: filter, in: edges, with: {where: \"src != dst\"}}\n";
  d.role = plan::operator_role::stateless;
  d.inputs = {{"in", "the rows to choose from"}};
  d.outputs = {{"out", "the rows for which `where` holds"}};
  d.parameters = {{.name = "where",
                   .kind = plan::parameter_kind::condition,
                   .required = true,
                   .help = "The condition that a row must meet."}};
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
