#include "engine/exec/resumed_phases.h"

#include <algorithm>

namespace flowrun::exec {

namespace {

// Everything that ends in the phase ends in a sort of which `is_complete` says so. A node that reports something would
// not report it again, and what lies in queues and vectors is gone with the process.
template <class IsComplete>
bool ends_in_sorts(const plan::graph& g, const plan::physical_plan& plan, size_t x, IsComplete is_complete) {
  for (const int index : plan.phases[x].pipelines) {
    const plan::pipeline& p = plan.pipelines[static_cast<size_t>(index)];
    if (p.control || !p.queues.empty() || !p.stores.empty() || p.nodes.empty()) return false;
    for (const int member : p.nodes) {
      const plan::node& n = g.nodes[static_cast<size_t>(member)];
      if (n.declaration->reports) return false;
      const bool is_end = n.role() == plan::operator_role::breaker && !n.elided;
      const bool is_read = std::any_of(n.outputs.begin(), n.outputs.end(),
                                       [](const plan::output_port& port) { return !port.consumers.empty(); });
      if (is_end ? !is_complete(n) : !is_read) return false;
    }
  }
  return true;
}

}  // namespace

std::vector<bool> finished_phases(const plan::graph& g, const plan::physical_plan& plan, resume::manifest* manifest) {
  std::vector<bool> out(plan.phases.size(), false);
  if (manifest == nullptr) return out;
  const auto phase_of_reader = [&](const plan::node& n) {
    for (const plan::pipeline& p : plan.pipelines)
      if (&g.nodes[static_cast<size_t>(p.head)] == &n) return static_cast<size_t>(p.phase);
    return plan.phases.size();
  };
  // From the last one back: the runs of a sort that a finished phase has read may be gone.
  for (size_t x = plan.phases.size(); x-- > 0;)
    out[x] = ends_in_sorts(g, plan, x, [&](const plan::node& n) {
      const size_t reader = phase_of_reader(n);
      if (reader < out.size() && out[reader]) return true;
      const resume::sort_progress& before = manifest->sort(n.id).before();
      return before.is_complete && !before.is_released;
    });
  return out;
}

void release_what_was_read(const plan::graph& g, const plan::physical_plan& plan, size_t x,
                           resume::manifest& manifest) {
  const auto is_complete = [&](const plan::node& n) { return manifest.sort(n.id).is_complete(); };
  if (!ends_in_sorts(g, plan, x, is_complete)) return;
  for (const int index : plan.phases[x].pipelines) {
    const plan::node& head = g.nodes[static_cast<size_t>(plan.pipelines[static_cast<size_t>(index)].head)];
    if (head.role() == plan::operator_role::breaker) manifest.sort(head.id).release();
  }
}

}  // namespace flowrun::exec
