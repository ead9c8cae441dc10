// pq_scan: time-forward processing with a priority queue of messages (STXXL, sections 5.4 and 9).
#include "engine/base/units.h"
#include "operators/parts/rules/pq_scan_settings.h"
#include "operators/parts/rules/pq_scan_source.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

exec::assembly build(exec::build_context& c, const pq_scan_settings& s) {
  exec::assembly out;
  out.head = make_pq_scan_source(c, s);
  return out;
}

// Memory for the messages that wait. There are no more of them than events, as far as the number of events is known.
plan::memory_wish memory(const plan::node& node, plan::node_part) {
  if (node.settings.as<pq_scan_settings>().num_pushes() == 0)
    return {.minimum = 256 * KiB, .maximum = 256 * KiB, .weight = 0};
  return {.minimum = 2 * MiB, .maximum = uint64_t{1} << 40, .weight = 1};
}

}  // namespace

template <>
exec::operator_definition word<"pq_scan">() {
  plan::operator_declaration d;
  d.name = "pq_scan";
  d.summary = "Goes through sorted streams in order, with a state and with messages to later times.";
  d.details =
      "Events are the rows of the inputs and the messages that rules have pushed, in the order of the columns `order`. "
      "Events with equal order columns: messages first, by their other columns, then the inputs, in the order in which "
      "`in:` names them. So whatever was sent to a time is there when it comes. For each event the rules of `on` are "
      "tried one after the other; each sees what those before it have set.\n\n"
      "Rules see the columns of numbers of all inputs, and have nothing to do with texts; where an event doesn't have "
      "a column, it is 0 (false, 0.0). Columns of the same name have the same type. A message has the columns that "
      "pushes name, or those of `message`; what a push doesn't set is 0. A push must be later than the event that "
      "causes it: its order columns must be greater. The queue of messages goes to scratch when memory is used up.\n\n"
      "A change of a `group` column ends a group: the rules of `at_end` see the last state, and the state starts anew. "
      "They are tried only for groups that had an event.";
  d.order =
      "needs: every input sorted by `order`; gives: the leading columns of `order` that every rule of the port emits "
      "as they are (of `at_end`: group columns only), up to one of f32";
  d.example =
      "# A maximal independent set; edges go from the smaller node to the larger one.\n"
      "mis:\n"
      "  op: pq_scan\n"
      "  in: {nodes: nodes, edges: edges}     # each sorted by node\n"
      "  with:\n"
      "    order: [node]\n"
      "    group: [node]\n"
      "    state: {blocked: \"false\"}\n"
      "    on:\n"
      "      - {from: messages, set: {blocked: \"true\"}}\n"
      "      - {from: nodes, when: not blocked, emit: {node: node}}\n"
      "      - {from: edges, when: not blocked, push: {node: to}}\n";
  d.role = plan::operator_role::meeting;
  d.inputs = {{"in", "streams of events, each sorted by `order`"}};
  d.inputs_by_name = true;
  d.outputs_from_parameters = true;
  d.parameters = pq_scan_parameters();
  d.memory = memory;
  return exec::define<pq_scan_settings>(std::move(d), check_pq_scan, build);
}

}  // namespace flowrun::operators
