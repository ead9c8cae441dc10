#include "specs/graph_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "specs/grammar.h"
#include "specs/node_reader.h"
#include "specs/parameters.h"

namespace flowrun::specs {

namespace {

constexpr std::string_view out_forms = "a node, or {port: node, …}";

// Takes over a type; "any" stands for none.
void read_port_type(const Entry& entry, GraphPort& port, fault_sink& faults) {
  constexpr std::string_view expected = "any, the name of a type, or {column: type, …}";
  const Value& value = entry.value();
  if (is_unresolved(value)) return;
  if (is_null(value) || is_list(value)) {
    faults.add(is_null(value) ? entry.key_position() : value.position(),
               fmt::format("'{}' {}", quotable(entry.key()), is_null(value) ? "has no type" : "is a list"),
               std::string(expected));
  } else if (is_map(value) && value.map().entries().empty()) {
    faults.add(value.position(), fmt::format("the type of '{}' has no columns", quotable(port.name())),
               std::string(expected));
  } else if (!(is_scalar(value) && text(value) == "any")) {
    *port.mutable_type() = value;
  }
}

void read_graph_inputs(const Entry& entry, Graph& graph, fault_sink& faults) {
  if (!expect_map(entry, "{port: any, port: TYPE, …}", faults)) return;
  for (const Entry& input : entry.value().map().entries()) {
    if (!expect_id(input, "an input", faults)) continue;
    GraphPort& port = *graph.add_inputs();
    port.set_name(input.key());
    *port.mutable_position() = input.key_position();
    read_port_type(input, port, faults);
  }
}

void read_origin(const Value& value, GraphPort& port, fault_sink& faults) {
  *port.mutable_from_position() = value.position();
  endpoint from;
  if (!read_endpoint(value, "an output", from, faults)) return;
  port.set_from_node(std::move(from.node));
  port.set_from_port(std::move(from.port));
}

void read_output(const Entry& entry, Graph& graph, fault_sink& faults) {
  if (!expect_id(entry, "an output", faults)) return;
  GraphPort& port = *graph.add_outputs();
  port.set_name(entry.key());
  *port.mutable_position() = entry.key_position();
  if (!is_map(entry.value())) return read_origin(entry.value(), port, faults);
  check_keys(entry.value(), "an output", {"from", "type"}, faults, {{"node", "from"}, {"in", "from"}});
  if (const Entry* from = find_entry(entry.value(), "from"))
    read_origin(from->value(), port, faults);
  else
    faults.add(entry.key_position(),
               fmt::format("the output '{}' doesn't say which node gives it", quotable(entry.key())),
               "{from: node, type: …}");
  if (const Entry* type = find_entry(entry.value(), "type")) read_port_type(*type, port, faults);
}

void read_outputs(const Entry& entry, Graph& graph, fault_sink& faults) {
  if (is_scalar(entry.value())) {
    GraphPort& port = *graph.add_outputs();
    port.set_name("out");
    *port.mutable_position() = entry.key_position();
    return read_origin(entry.value(), port, faults);
  }
  if (!expect_map(entry, out_forms, faults)) return;
  if (entry.value().map().entries().empty())
    faults.add(entry.value().position(), "an empty map of outputs", std::string(out_forms));
  for (const Entry& output : entry.value().map().entries()) read_output(output, graph, faults);
}

void read_scalar_type(const Entry& entry, Param& scalar, fault_sink& faults) {
  constexpr std::array<ParamType, 5> types = {PARAM_INT, PARAM_FLOAT, PARAM_BOOL, PARAM_DATE, PARAM_TIMESTAMP};
  constexpr std::string_view expected = "one of int, float, bool, date, timestamp";
  const std::string* word = expect_text(entry, expected, faults);
  if (!word) return;
  const auto* const found =
      std::find_if(types.begin(), types.end(), [&](ParamType type) { return param_type_name(type) == *word; });
  if (found != types.end())
    scalar.set_type(*found);
  else
    faults.add(entry.value().position(), fmt::format("'{}' is no type of a scalar", quotable(*word)),
               std::string(expected), "a scalar is a number or a time that expressions use; use params: for text");
}

void read_scalar(const Entry& entry, Graph& graph, fault_sink& faults) {
  Param& scalar = *graph.add_scalars();
  scalar.set_name(entry.key());
  scalar.set_type(PARAM_INT);
  *scalar.mutable_position() = entry.key_position();
  if (!is_column_name(entry.key()))
    faults.add(entry.key_position(), fmt::format("'{}' is no name for a scalar", quotable(entry.key())),
               "a letter or _, then letters, digits and _", "expressions name scalars, and '-' is a minus there");
  if (!expect_map(entry, "{type: int, default: 0}", faults)) return;
  const Value& value = entry.value();
  check_keys(value, "a scalar", {"type", "default", "help"}, faults,
             {{"value", "default"}, {"doc", "help"}, {"description", "help"}});
  const size_t faults_before = faults.num_faults();
  if (const Entry* type = find_entry(value, "type"))
    read_scalar_type(*type, scalar, faults);
  else
    faults.add(entry.key_position(), fmt::format("the scalar '{}' has no type", quotable(entry.key())),
               "type: one of int, float, bool, date, timestamp");
  if (const Entry* help = find_entry(value, "help"))
    if (const std::string* words = expect_text(*help, "text", faults)) scalar.set_help(*words);
  const Entry* fallback = find_entry(value, "default");
  scalar.set_required(fallback == nullptr);
  const std::string* number = fallback ? expect_text(*fallback, "a number, true or false, or a time", faults) : nullptr;
  if (!number || faults.num_faults() != faults_before) return;
  if (const std::string expected = misfit(scalar, *number); !expected.empty())
    faults.add(fallback->value().position(),
               fmt::format("the default '{}' is no {} for the scalar '{}'", quotable(*number),
                           param_type_name(scalar.type()), quotable(entry.key())),
               expected);
  else
    *scalar.mutable_default_value() = fallback->value();
}

void read_graph(const Entry& entry, Graph& graph, fault_sink& faults) {
  graph.set_name(entry.key());
  *graph.mutable_position() = entry.key_position();
  expect_id(entry, "a graph", faults);
  if (!expect_map(entry, "{in: …, out: …, nodes: {…}}", faults)) return;
  const Value& value = entry.value();
  const std::string name = fmt::format("the graph '{}'", quotable(entry.key()));
  check_keys(value, "a graph", {"doc", "in", "out", "scalars", "nodes"}, faults,
             {{"inputs", "in"},
              {"input", "in"},
              {"outputs", "out"},
              {"output", "out"},
              {"params", "scalars"},
              {"parameters", "scalars"},
              {"body", "nodes"},
              {"description", "doc"},
              {"help", "doc"}});
  if (const Entry* doc = find_entry(value, "doc"))
    if (const std::string* words = expect_text(*doc, "text", faults)) graph.set_doc(*words);
  if (const Entry* in = find_entry(value, "in")) read_graph_inputs(*in, graph, faults);
  if (const Entry* scalars = find_entry(value, "scalars"))
    if (expect_map(*scalars, "NAME: {type: int, default: 0} for each scalar", faults))
      for (const Entry& scalar : scalars->value().map().entries()) read_scalar(scalar, graph, faults);
  if (const Entry* out = find_entry(value, "out"))
    read_outputs(*out, graph, faults);
  else
    faults.add(entry.key_position(), name + " gives nothing", fmt::format("out: {}", out_forms));
  if (const Entry* nodes = find_entry(value, "nodes"))
    read_nodes(*nodes, name, *graph.mutable_nodes(), faults);
  else
    faults.add(entry.key_position(), name + " has no nodes", "nodes: {NAME: {op: …, in: …, with: {…}}, …}");
}

}  // namespace

void read_graphs(const Entry& section, JobSpec& job, fault_sink& faults) {
  if (is_null(section.value())) return;
  if (!expect_map(section, "NAME: {in: …, out: …, nodes: {…}} for each graph", faults)) return;
  for (const Entry& entry : section.value().map().entries()) read_graph(entry, *job.add_graphs(), faults);
}

}  // namespace flowrun::specs
