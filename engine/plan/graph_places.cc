#include "engine/plan/graph_places.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "engine/plan/body_ports.h"

namespace flowrun::plan {

namespace {

// In front of so many inputs of the node rows wait for its scalars.
size_t num_waiting(const specs::Node& n, const operator_declaration* d) {
  if (d == nullptr || d->inputs.empty() || n.scalars().empty()) return 0;
  return static_cast<size_t>(std::count_if(n.inputs().begin(), n.inputs().end(), [&](const specs::Input& in) {
    const auto named = std::find_if(d->inputs.begin(), d->inputs.end(),
                                    [&](const port_declaration& port) { return port.name == in.port(); });
    const port_declaration& port = named == d->inputs.end() ? d->inputs.front() : *named;
    return takes_in_early(*d, port.stored, port.as_vector);
  }));
}

}  // namespace

std::vector<graph_place> places_of(const std::vector<const specs::Node*>& nodes, const std::vector<int>& sequence,
                                   const vocabulary& catalog) {
  std::vector<graph_place> out;
  std::set<std::pair<std::string, std::string>> taken;
  for (const int i : sequence) {
    const specs::Node* const n = nodes[static_cast<size_t>(i)];
    for (const specs::Input& row : n->scalars())
      if (taken.emplace(row.from_node(), row.from_port()).second) out.push_back({nullptr, &row, false});
    for (size_t k = num_waiting(*n, catalog.find(n->op())); k > 0; --k) out.push_back({n, nullptr, true});
    out.push_back({n, nullptr, false});
  }
  return out;
}

std::vector<const body_input*> streams_of(const body_request& request) {
  std::vector<const body_input*> out;
  for (const body_input& in : request.inputs) {
    size_t readers = 0;
    bool gives_values = false;
    for (const specs::Node& n : *request.nodes) {
      for (const specs::Input& from : n.inputs()) readers += from.from_node() == in.name ? 1 : 0;
      for (const specs::Input& row : n.scalars()) gives_values = gives_values || row.from_node() == in.name;
    }
    readers += gives_values ? 1 : 0;
    for (const body_output& result : request.outputs) readers += result.from_node == in.name ? 1 : 0;
    out.insert(out.end(), std::max<size_t>(readers, 1), &in);
  }
  return out;
}

}  // namespace flowrun::plan
