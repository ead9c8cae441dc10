#include "runner/state_nodes.h"

#include <algorithm>

namespace flowrun::runner {

using exec::RunReport;

const RunReport::Node* node_of(const RunReport& state, const std::string& id) {
  const auto found =
      std::find_if(state.nodes().begin(), state.nodes().end(), [&](const auto& n) { return n.id() == id; });
  return found == state.nodes().end() ? nullptr : &*found;
}

RunReport::Phase::State phase_state_of(const RunReport& state, const RunReport::Node& node) {
  const RunReport::Node* outermost = &node;
  // As often as there are nodes: a state that comes from elsewhere may have some that lie in each other.
  for (int i = 0; i < state.nodes_size() && !outermost->inside().empty(); ++i) {
    const RunReport::Node* const outer = node_of(state, outermost->inside());
    if (outer == nullptr) break;
    outermost = outer;
  }
  bool waits = false;
  for (const auto& phase : state.phases()) {
    if (std::find(phase.nodes().begin(), phase.nodes().end(), outermost->id()) == phase.nodes().end()) continue;
    if (phase.state() == RunReport::Phase::running) return RunReport::Phase::running;
    waits = waits || phase.state() == RunReport::Phase::waiting;
  }
  return waits ? RunReport::Phase::waiting : RunReport::Phase::finished;
}

}  // namespace flowrun::runner
