// Finding operators and nodes by name.
#include "engine/base/error.h"
#include "engine/plan/graph.h"

namespace flowrun::plan {

void operator_catalog::add(const operator_declaration* declaration) {
  if (!by_name_.emplace(declaration->name, declaration).second)
    internal_error("operator '" + declaration->name + "' is declared twice");
}

const operator_declaration* operator_catalog::find(const std::string& name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

std::vector<std::string> operator_catalog::names() const {
  std::vector<std::string> out;
  for (const auto& [name, declaration] : by_name_) out.push_back(name);
  return out;
}

const node* graph::find(const std::string& id) const {
  for (const node& n : nodes)
    if (n.id == id) return &n;
  return nullptr;
}

}  // namespace flowrun::plan
