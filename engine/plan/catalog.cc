// Finding operators and nodes by name.
#include <algorithm>

#include "engine/base/error.h"
#include "engine/plan/body_ports.h"
#include "engine/plan/graph.h"

namespace flowrun::plan {

void vocabulary::add(const operator_declaration* declaration) {
  if (!by_name_.emplace(declaration->name, declaration).second)
    internal_error("operator '" + declaration->name + "' is declared twice");
}

const operator_declaration* vocabulary::find(const std::string& name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

std::vector<std::string> vocabulary::names() const {
  std::vector<std::string> out;
  for (const auto& [name, declaration] : by_name_) out.push_back(name);
  return out;
}

bool node::stores() const {
  return std::any_of(inputs.begin(), inputs.end(), [](const input_port& in) { return in.stored; });
}

size_t node::flowing_input() const {
  const auto it = std::find_if(inputs.begin(), inputs.end(), [](const input_port& in) { return !in.stored; });
  FLOWRUN_CHECK(it != inputs.end());
  return static_cast<size_t>(it - inputs.begin());
}

operator_role node::role() const {
  if (elided) return operator_role::ordered;
  if (!stores() || declaration->role == operator_role::control) return declaration->role;
  const auto flowing = std::count_if(inputs.begin(), inputs.end(), [](const input_port& in) { return !in.stored; });
  if (flowing == 0) return operator_role::source;
  if (flowing > 1) return operator_role::meeting;
  return declaration->role == operator_role::meeting ? operator_role::ordered : declaration->role;
}

std::string graph::input_name(const node& n, size_t i) const {
  const input_port& input = n.inputs[i];
  const node& from = nodes[static_cast<size_t>(input.from_node)];
  if (from.declaration == &waiting_rows()) return input_name(from, 0);
  return input.from_port == 0 ? from.id : from.id + "." + from.outputs[static_cast<size_t>(input.from_port)].name;
}

const node* graph::find(const std::string& id) const {
  for (const node& n : nodes)
    if (n.id == id) return &n;
  return nullptr;
}

}  // namespace flowrun::plan
