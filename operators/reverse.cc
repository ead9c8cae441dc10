// reverse: the rows from the last to the first.
//
//   in ─▶ external vector | read from its end: blocks are read ahead backwards ─▶ out
//
// A stack whose pushes all come before its pops (STXXL, section 5.3): with memory for M of N rows, 2 (N - M) rows are
// moved to and from scratch. A stack would keep the newest rows in memory instead of the oldest. It would write and
// read as much, and copy rows once more: when a row comes, it can't know whether the row will stay.
#include <algorithm>

#include "engine/base/units.h"
#include "engine/exec/vector_stages.h"
#include "operators/parts/order/stored_source.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

struct settings {};

settings check(plan::node_checker& node) {
  plan::order turned = node.input_order();
  for (plan::order_term& term : turned) term.descending = !term.descending;
  if (node.input_estimate().known) node.facts().stored_bytes = node.input_estimate().num_bytes;
  node.set_output(0, node.input_type(), std::move(turned), node.input_estimate());
  return {};
}

exec::assembly build(exec::build_context& c, const settings&) {
  exec::assembly out;
  const auto rows = std::any_cast<exec::shared_rows>(c.states[0]);
  out.head = make_stored_source(rows->read(c.memory_bytes, container::direction::backward, c.batches.target_bytes));
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"reverse">() {
  plan::operator_declaration d;
  d.name = "reverse";
  d.summary = "Gives the rows from the last to the first.";
  d.details =
      "The input is stored as a whole, in memory as far as it fits, on scratch beyond, and read from its end. No row "
      "is compared: sorted rows come out sorted the other way round.";
  d.order = "gives: the input's order, each key turned round";
  d.example = "latest_first: {op: reverse, in: log}\n";
  d.role = plan::operator_role::meeting;
  d.inputs = {{.name = "in", .help = "the rows", .stored = true, .as_vector = true}};
  d.outputs = {{"out", "the same rows in reverse order"}};
  d.memory = stored_memory;
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
