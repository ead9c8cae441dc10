#include "engine/plan/estimates.h"

#include "engine/plan/body_ports.h"
#include "engine/plan/node_checker.h"

namespace flowrun::plan {

namespace {

void check_again(graph& g, node& n) {
  const known_files no_files;
  const node before = n;
  n.outputs.clear();
  n.facts = {};
  if (!n.declaration->outputs_from_parameters)
    for (const port_declaration& port : n.declaration->outputs) n.outputs.emplace_back().name = port.name;
  std::vector<fault> faults;
  node_checker checker(g, n, no_files, faults);
  n.settings = n.declaration->check(checker);
  bool same = faults.empty() && n.outputs.size() == before.outputs.size() && n.role() == before.role();
  for (size_t i = 0; same && i < n.outputs.size(); ++i) {
    same = n.outputs[i].type == before.outputs[i].type && n.outputs[i].sorted_by == before.outputs[i].sorted_by;
    n.outputs[i].consumers = before.outputs[i].consumers;
  }
  if (!same) n = before;
}

}  // namespace

void update_estimates(graph& body, const std::map<std::string, row_estimate>& streams) {
  for (node& n : body.nodes) {
    const operator_role role = n.declaration->role;
    if (is_body_stream(n)) {
      if (const auto it = streams.find(n.id); it != streams.end()) n.outputs[0].estimate = it->second;
    } else if (role == operator_role::control) {
      // What was known when it was checked is of that time: of another call, or of the iteration before.
      for (output_port& port : n.outputs) port.estimate = {};
    } else if (role != operator_role::source && n.declaration->check) {
      check_again(body, n);
    }
  }
}

}  // namespace flowrun::plan
