#include "engine/plan/pipelines.h"

#include <algorithm>

namespace flowrun::plan {

pipeline_layout find_pipelines(const graph& g) {
  pipeline_layout out;
  out.feeds.assign(g.nodes.size(), -1);
  out.gives.assign(g.nodes.size(), -1);
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const node& n = g.nodes[i];
    const int index = static_cast<int>(i);
    const operator_role role = n.role();
    const bool meets = role == operator_role::meeting;
    if (meets) {
      for (size_t k = 0; k < n.inputs.size(); ++k) {
        const int producer = out.gives[static_cast<size_t>(n.inputs[k].from_node)];
        out.pipelines[static_cast<size_t>(producer)].queues.push_back(static_cast<int>(out.queues.size()));
        queue& q = out.queues.emplace_back();
        q.from_node = n.inputs[k].from_node;
        q.from_port = n.inputs[k].from_port;
        q.to_node = index;
        q.to_input = static_cast<int>(k);
      }
    } else if (role != operator_role::source) {
      const int producer = out.gives[static_cast<size_t>(n.inputs.front().from_node)];
      out.pipelines[static_cast<size_t>(producer)].nodes.push_back(index);
      out.feeds[i] = producer;
      out.gives[i] = producer;
    }
    if (meets || role == operator_role::source || role == operator_role::breaker) {
      out.gives[i] = static_cast<int>(out.pipelines.size());
      out.pipelines.emplace_back().head = index;
    }
  }
  return out;
}

std::vector<std::pair<int, int>> path_to(const graph& g, const pipeline_layout& layout, const queue& q) {
  std::vector<std::pair<int, int>> path;
  const int head = layout.pipelines[static_cast<size_t>(layout.gives[static_cast<size_t>(q.from_node)])].head;
  int n = q.from_node, port = q.from_port;
  for (;;) {
    path.emplace_back(n, port);
    if (n == head) break;
    const input_port& in = g.nodes[static_cast<size_t>(n)].inputs.front();
    n = in.from_node;
    port = in.from_port;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace flowrun::plan
