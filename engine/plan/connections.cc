#include "engine/plan/connections.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>

#include "specs/value.h"

namespace flowrun::plan {

std::vector<int> topological_order(const std::vector<const specs::Node*>& nodes) {
  std::map<std::string, int> number;
  const size_t num_nodes = nodes.size();
  for (size_t i = 0; i < num_nodes; ++i) number.emplace(nodes[i]->id(), static_cast<int>(i));
  std::vector<std::vector<int>> readers(num_nodes);
  std::vector<int> waiting(num_nodes, 0);
  for (size_t i = 0; i < num_nodes; ++i) {
    const auto wait_for = [&](const specs::Input& input) {
      const auto it = number.find(input.from_node());
      if (it == number.end()) return;
      readers[static_cast<size_t>(it->second)].push_back(static_cast<int>(i));
      ++waiting[i];
    };
    for (const specs::Input& input : nodes[i]->inputs()) wait_for(input);
    for (const specs::Input& input : nodes[i]->scalars()) wait_for(input);
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (size_t i = 0; i < num_nodes; ++i)
    if (waiting[i] == 0) ready.push(static_cast<int>(i));
  std::vector<int> out;
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    out.push_back(i);
    for (int reader : readers[static_cast<size_t>(i)])
      if (--waiting[static_cast<size_t>(reader)] == 0) ready.push(reader);
  }
  return out;
}

void connector::fail(const specs::Position& where, std::string message, std::string expected, std::string hint) {
  faults_.push_back(
      {specs::where(graph_.job->file(), where), std::move(message), std::move(expected), std::move(hint)});
}

connector::endpoint connector::resolve(const specs::Input& input) {
  endpoint end;
  end.spec = &input;
  std::vector<std::string> ids;
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    const std::string& id = graph_.nodes[i].id;
    if (!specs::is_id(id)) continue;  // results of a body have names that nobody may read by
    ids.push_back(id);
    // Of a body's stream each reader has a node of its own.
    if (id == input.from_node() && (end.node < 0 || used_.contains({end.node, 0}))) end.node = static_cast<int>(i);
  }
  if (end.node < 0) {
    fail(input.position(), fmt::format("there is no node '{}'", input.from_node()), {},
         did_you_mean(input.from_node(), ids));
    return end;
  }
  read_.insert(end.node);
  if (!good_[static_cast<size_t>(end.node)]) return end;
  const node& from = graph_.nodes[static_cast<size_t>(end.node)];
  std::vector<std::string> ports;
  for (const output_port& port : from.outputs) ports.push_back(port.name);
  if (ports.empty()) {
    fail(input.position(), fmt::format("'{}' has no output: {} writes outside", from.id, from.declaration->name),
         "a node with an output");
    return end;
  }
  if (!input.from_port().empty()) {
    const auto it = std::find(ports.begin(), ports.end(), input.from_port());
    if (it == ports.end()) {
      std::string hint = did_you_mean(input.from_port(), ports);
      if (hint.empty() && from.declaration->has_error_port && !from.spec->has_on_error())
        hint =
            fmt::format("on_error: {{to: {}}} at '{}' gives it an output of rejected rows", input.from_port(), from.id);
      fail(input.position(), fmt::format("'{}' has no output '{}'", from.id, input.from_port()), one_of(ports), hint);
      return end;
    }
    end.port = static_cast<int>(it - ports.begin());
  }
  used_.insert({end.node, end.port});
  end.good = true;
  return end;
}

bool connector::connect(int index) {
  node& n = graph_.nodes[static_cast<size_t>(index)];
  const size_t faults_before = faults_.size();
  std::vector<endpoint> ends;
  for (const specs::Input& input : n.spec->inputs()) ends.push_back(resolve(input));
  if (!n.declaration) return false;
  const std::vector<port_declaration>& declared = n.declaration->inputs;
  const specs::InputForm form = n.spec->input_form();
  const bool named = form == specs::INPUT_NAMED;
  if (declared.empty()) {
    if (form != specs::INPUT_NONE)
      fail(n.spec->in_position(), fmt::format("'{}' has no input", n.declaration->name), "no in:", "remove in:");
  } else if (n.declaration->inputs_by_name) {
    take_names(n, ends);
  } else if (form == specs::INPUT_NONE) {
    std::vector<std::string> parts;
    for (const port_declaration& port : declared) parts.push_back(port.name + ": …");
    fail(n.spec->op_position(), fmt::format("'{}' has no input", n.id),
         n.declaration->any_number_of_inputs ? "in: [a, b]"
         : declared.size() == 1              ? "in: the node it reads from"
                                             : "in: {" + joined(parts, ", ") + "}");
  } else if (n.declaration->any_number_of_inputs || (declared.size() == 1 && !named)) {
    match_list(n, ends);
  } else {
    match_names(n, ends);
  }
  if (faults_.size() != faults_before) return false;
  for (size_t k = 0; k < n.inputs.size(); ++k) {
    const input_port& in = n.inputs[k];
    if (!good_[static_cast<size_t>(in.from_node)]) return false;
    graph_.nodes[static_cast<size_t>(in.from_node)].outputs[static_cast<size_t>(in.from_port)].consumers.emplace_back(
        index, static_cast<int>(k));
  }
  // The reader leaves out an input that it has reported.
  return declared.empty() || n.declaration->inputs_by_name || !n.inputs.empty();
}

void connector::match_list(node& n, std::vector<endpoint>& ends) {
  const bool any = n.declaration->any_number_of_inputs;
  const std::string& port = n.declaration->inputs.front().name;
  if (n.spec->input_form() == specs::INPUT_NAMED) {
    fail(n.spec->in_position(), fmt::format("the inputs of '{}' have no names", n.declaration->name),
         "a list: in: [a, b]");
    return;
  }
  if (!any && ends.size() > 1) {
    fail(n.spec->in_position(), fmt::format("'{}' has one input, not {}", n.declaration->name, ends.size()),
         "in: the node it reads from", "concat, merge, join and zip read several streams");
    return;
  }
  const port_declaration& declared = n.declaration->inputs.front();
  for (const endpoint& end : ends)
    n.inputs.push_back({port, end.node, end.port, end.spec, declared.stored, declared.as_vector});
}

void connector::match_names(node& n, std::vector<endpoint>& ends) {
  std::vector<std::string> names, parts;
  for (const port_declaration& port : n.declaration->inputs) {
    names.push_back(port.name);
    parts.push_back(port.name + ": …");
  }
  const std::string expected = "in: {" + joined(parts, ", ") + "}";
  if (n.spec->input_form() != specs::INPUT_NAMED) {
    fail(n.spec->in_position(), fmt::format("'{}' needs to know which input is which", n.declaration->name), expected);
    return;
  }
  for (const endpoint& end : ends)
    if (std::find(names.begin(), names.end(), end.spec->port()) == names.end())
      fail(end.spec->position(), fmt::format("'{}' has no input '{}'", n.declaration->name, end.spec->port()), expected,
           did_you_mean(end.spec->port(), names));
  for (const port_declaration& port : n.declaration->inputs) {
    const auto end =
        std::find_if(ends.begin(), ends.end(), [&](const endpoint& e) { return e.spec->port() == port.name; });
    if (end == ends.end())
      fail(n.spec->in_position(), fmt::format("the input '{}' of '{}' is missing", port.name, n.id), expected);
    else
      n.inputs.push_back({port.name, end->node, end->port, end->spec, port.stored, port.as_vector});
  }
}

// Names of the user's choice; without them an input has the name of the node it comes from.
void connector::take_names(node& n, std::vector<endpoint>& ends) {
  const port_declaration& declared = n.declaration->inputs.front();
  const bool named = n.spec->input_form() == specs::INPUT_NAMED;
  for (const endpoint& end : ends) {
    const std::string& name = named ? end.spec->port() : end.spec->from_node();
    if (!specs::is_id(name))
      fail(end.spec->position(), fmt::format("'{}' can't name an input", name),
           "a letter or _, then letters, digits, _ and -");
    if (std::any_of(n.inputs.begin(), n.inputs.end(), [&](const input_port& in) { return in.name == name; }))
      fail(end.spec->position(), fmt::format("'{}' has an input '{}' already", n.id, name), "in: {name: node, …}");
    n.inputs.push_back({name, end.node, end.port, end.spec, declared.stored, declared.as_vector});
  }
}

}  // namespace flowrun::plan
