#include "engine/plan/body_ports.h"

#include <algorithm>

#include "engine/base/units.h"
#include "engine/plan/node_checker.h"

namespace flowrun::plan {

namespace {

operator_declaration sink(const char* name, const char* summary, const char* input = "rows of the body") {
  operator_declaration d;
  d.name = name;
  d.summary = summary;
  d.role = operator_role::sink;
  d.inputs = {{"in", input}};
  return d;
}

operator_declaration stream() {
  operator_declaration d;
  d.name = "(stream)";
  d.summary = "rows from outside of a body";
  d.role = operator_role::source;
  d.outputs = {{"out", "the rows"}};
  d.output_optional = true;
  // For reading ahead what does not lie in memory.
  d.memory = [](const node&, node_part) { return memory_wish{64 * KiB, 4 * MiB, 0.05}; };
  return d;
}

operator_declaration waiting() {
  operator_declaration d;
  d.name = "(waits)";
  d.summary = "gives rows on once values are known that the next node names";
  d.role = operator_role::stateless;
  d.inputs = {{"in", "the rows"}};
  d.outputs = {{"out", "the rows"}};
  d.output_optional = true;
  d.check = [](node_checker& node) {
    node.set_output(0, node.input_type(), node.input_order(), node.input_estimate());
    return checked_settings();
  };
  return d;
}

}  // namespace

const operator_declaration& body_stream() {
  static const operator_declaration d = stream();
  return d;
}

const operator_declaration& body_result() {
  static const operator_declaration d = sink("(result)", "rows that leave a body");
  return d;
}

const operator_declaration& body_count() {
  static const operator_declaration d = sink("(count)", "counts rows of a body");
  return d;
}

const operator_declaration& row_values() {
  static const operator_declaration d = sink("(values)", "takes the values of one row", "the row");
  return d;
}

const operator_declaration& waiting_rows() {
  static const operator_declaration d = waiting();
  return d;
}

bool takes_in_early(const operator_declaration& d, bool stored, bool as_vector) {
  return d.role == operator_role::breaker || (stored && !as_vector);
}

bool is_body_stream(const node& n) { return n.declaration == &body_stream(); }

bool is_internal(const node& n) {
  return is_body_stream(n) || n.declaration == &body_result() || n.declaration == &body_count() ||
         n.declaration == &row_values() || n.declaration == &waiting_rows();
}

std::shared_ptr<const graph> body_of(const node& control, size_t i) {
  if (control.bodies.empty()) return control.recursion.lock();
  return i < control.bodies.size() ? control.bodies[i] : nullptr;
}

std::string full_name(const graph& g, const node& n) { return g.path.empty() ? n.id : g.path + "." + n.id; }

bool lies_in_a_vector(const graph& g, const input_port& in) {
  return in.stored && in.as_vector && is_body_stream(g.nodes[static_cast<size_t>(in.from_node)]);
}

bool is_filled(const graph& g, const node& reader, const input_port& in) {
  return in.stored && !lies_in_a_vector(g, in) && !reader.facts.seeks_in_file;
}

bool is_sought(const graph& body, const std::string& stream) {
  return std::any_of(body.nodes.begin(), body.nodes.end(), [&](const node& n) {
    if (n.role() == operator_role::control && !is_sought_again(n)) return false;
    return std::any_of(n.inputs.begin(), n.inputs.end(), [&](const input_port& in) {
      return lies_in_a_vector(body, in) && body.nodes[static_cast<size_t>(in.from_node)].id == stream;
    });
  });
}

bool is_sought_again(const node& n) { return n.role() == operator_role::control && n.facts.seeks; }

}  // namespace flowrun::plan
