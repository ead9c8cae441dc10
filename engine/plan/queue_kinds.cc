#include "engine/plan/queue_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace flowrun::plan {

namespace {

// Queues of one phase that count as one edge between two pipelines.
struct edge {
  size_t from, to;
  std::vector<size_t> queues;
};

class circle_finder {
 public:
  circle_finder(const graph& g, pipeline_layout& layout, std::vector<edge> edges)
      : graph_(g), layout_(layout), edges_(std::move(edges)) {}

  void run() {
    std::vector<bool> on_circle(edges_.size());
    for (size_t e = 0; e < edges_.size(); ++e)
      on_circle[e] = component_of(edges_[e].from, [&](size_t other) { return other != e; }).contains(edges_[e].to);
    for (size_t e = 0; e < edges_.size(); ++e) {
      if (!on_circle[e]) continue;
      const std::string reason =
          describe(component_of(edges_[e].from, [&](size_t other) { return on_circle[other]; }), on_circle);
      for (size_t q : edges_[e].queues) {
        layout_.queues[q].kind = queue_kind::spilling;
        layout_.queues[q].reason = reason;
      }
    }
  }

 private:
  using component = std::map<size_t, bool>;  // pipelines, by number

  template <typename Allowed>
  component component_of(size_t start, Allowed allowed) const {
    component seen;
    std::vector<size_t> todo{start};
    while (!todo.empty()) {
      const size_t p = todo.back();
      todo.pop_back();
      if (!seen.emplace(p, true).second) continue;
      for (size_t e = 0; e < edges_.size(); ++e) {
        if (!allowed(e)) continue;
        if (edges_[e].from == p) todo.push_back(edges_[e].to);
        if (edges_[e].to == p) todo.push_back(edges_[e].from);
      }
    }
    return seen;
  }

  // Every circle has a pipeline with two ways out and one with two ways in.
  std::string describe(const component& members, const std::vector<bool>& on_circle) const {
    std::string fork, meeting;
    for (const auto& [p, unused] : members) {
      std::vector<size_t> leaving;
      size_t entering = 0;
      for (size_t e = 0; e < edges_.size(); ++e) {
        if (!on_circle[e]) continue;
        if (edges_[e].from == p) leaving.insert(leaving.end(), edges_[e].queues.begin(), edges_[e].queues.end());
        entering += edges_[e].to == p ? edges_[e].queues.size() : 0;
      }
      if (leaving.size() > 1 && fork.empty()) fork = name(fork_of(leaving[0], leaving[1]));
      if (entering > 1) meeting = name(layout_.pipelines[p].head);
    }
    return fmt::format("branches of '{}' meet again at '{}' and can't run in step", fork, meeting);
  }

  const std::string& name(int node) const { return graph_.nodes[static_cast<size_t>(node)].id; }

  int fork_of(size_t a, size_t b) const {
    const auto pa = path_to(graph_, layout_, layout_.queues[a]), pb = path_to(graph_, layout_, layout_.queues[b]);
    int last = pa.front().first;
    for (size_t i = 0; i < std::min(pa.size(), pb.size()) && pa[i].first == pb[i].first; ++i) last = pa[i].first;
    return last;
  }

  const graph& graph_;
  pipeline_layout& layout_;
  std::vector<edge> edges_;
};

// Whether both paths, from where they part, keep the number of rows, hold none back, and stay narrow.
bool in_step(const graph& g, const pipeline_layout& layout, const queue& a, const queue& b) {
  const auto pa = path_to(g, layout, a), pb = path_to(g, layout, b);
  size_t common = 0;
  while (common < std::min(pa.size(), pb.size()) && pa[common] == pb[common]) ++common;
  if (common == 0) return false;
  const auto& [fork, fork_port] = pa[common - 1];
  const record::row_type& shared = g.nodes[static_cast<size_t>(fork)].outputs[static_cast<size_t>(fork_port)].type;
  auto keeps = [&](const std::vector<std::pair<int, int>>& path) {
    return std::all_of(path.begin() + static_cast<std::ptrdiff_t>(common), path.end(),
                       [&](const std::pair<int, int>& step) {
                         const node& n = g.nodes[static_cast<size_t>(step.first)];
                         const record::row_type& type = n.outputs.front().type;
                         return n.declaration->keeps_row_count && step.second == 0 && n.facts.rows_behind == 0 &&
                                !type.has_strings() && type.row_bytes() <= 2 * shared.row_bytes();
                       });
  };
  return keeps(pa) && keeps(pb);
}

}  // namespace

void decide_queues(const graph& g, pipeline_layout& layout) {
  std::map<int, std::vector<edge>> edges;  // by phase
  for (size_t i = 0; i < layout.queues.size(); ++i) {
    queue& q = layout.queues[i];
    const auto from = static_cast<size_t>(layout.gives[static_cast<size_t>(q.from_node)]);
    const auto to = static_cast<size_t>(layout.gives[static_cast<size_t>(q.to_node)]);
    const int phase = layout.pipelines[from].phase;
    if (phase != layout.pipelines[to].phase) {
      q.kind = queue_kind::spilling;
      q.reason = fmt::format("'{}' runs in phase {}, its producer in phase {}",
                             g.nodes[static_cast<size_t>(q.to_node)].id, layout.pipelines[to].phase + 1, phase + 1);
      continue;
    }
    const bool one_pace = g.nodes[static_cast<size_t>(q.to_node)].declaration->keeps_row_count;
    std::vector<edge>& all = edges[phase];
    const auto same = std::find_if(all.begin(), all.end(), [&](const edge& e) {
      return one_pace && e.from == from && e.to == to && in_step(g, layout, layout.queues[e.queues.front()], q);
    });
    if (same == all.end())
      all.push_back({from, to, {i}});
    else
      same->queues.push_back(i);
  }
  for (auto& [phase, of_phase] : edges) circle_finder(g, layout, std::move(of_phase)).run();
}

}  // namespace flowrun::plan
