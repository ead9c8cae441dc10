#include "engine/plan/output_rules.h"

#include <fmt/format.h>

#include "specs/value.h"

namespace flowrun::plan {

void check_outputs_used(const graph& g, const std::vector<bool>& good, const connector& connections,
                        std::vector<fault>& faults) {
  auto fail = [&](const specs::Position& where, std::string message, std::string hint) {
    faults.push_back({specs::where(g.job->file(), where), std::move(message), {}, std::move(hint)});
  };
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const node& n = g.nodes[i];
    if (!n.declaration || n.declaration->role == operator_role::sink || n.declaration->output_optional) continue;
    const int index = static_cast<int>(i);
    if (!connections.read_at_all(index)) {
      fail(n.spec->position(), fmt::format("the rows of '{}' are never used", n.id),
           fmt::format("remove '{}', or {}", n.id,
                       g.path.empty() ? "read it with a file.write_… node" : "name it among what the body gives on"));
      continue;
    }
    if (!good[i] || n.declaration->role == operator_role::control) continue;
    for (size_t port = 0; port < n.outputs.size(); ++port) {
      if (connections.used(index, static_cast<int>(port))) continue;
      const std::string& name = n.outputs[port].name;
      const specs::OnError& e = n.spec->on_error();
      if (n.spec->has_on_error() && e.action() == specs::OnError::PORT && e.port() == name)
        fail(e.to_position(), fmt::format("nobody reads the rejected rows of '{0}' (port '{0}.{1}')", n.id, name),
             fmt::format("read {}.{} with a file.write_lines node, or write on_error: {{to: skip}}", n.id, name));
      else
        fail(n.spec->position(), fmt::format("the output '{}' of '{}' is never used", name, n.id),
             g.path.empty() ? fmt::format("read {}.{} with a file.write_… node, or remove it", n.id, name)
                            : fmt::format("name {}.{} among what the body gives on, or remove it", n.id, name));
    }
  }
}

}  // namespace flowrun::plan
