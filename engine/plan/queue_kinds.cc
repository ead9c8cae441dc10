#include "engine/plan/queue_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace flowrun::plan {

namespace {

// Queues of one phase that count as one edge between two pipelines.
struct edge {
  size_t from, to;
  std::vector<size_t> queues;
};

// Edges are walked in both directions: a circle is a way back to where one began, whichever way rows flow on it. An
// edge is on one exactly where it is no bridge (Tarjan 1974, "A note on finding the bridges of a graph"), so the time
// is linear in the edges.
class circle_finder {
 public:
  circle_finder(const graph& g, pipeline_layout& layout, std::vector<edge> edges)
      : graph_(g), layout_(layout), edges_(std::move(edges)) {
    for (size_t e = 0; e < edges_.size(); ++e) {
      at_[edges_[e].from].edges.push_back(e);
      if (edges_[e].to != edges_[e].from) at_[edges_[e].to].edges.push_back(e);
    }
  }

  void run() {
    on_circle_.assign(edges_.size(), true);
    for (const auto& [p, found] : at_)
      if (found.number == 0) find_bridges(p);
    for (size_t e = 0; e < edges_.size(); ++e) {
      if (!on_circle_[e] || at_[edges_[e].from].described) continue;
      describe(component_of(edges_[e].from));
    }
  }

 private:
  struct pipeline_at {
    std::vector<size_t> edges;
    size_t number = 0;   // in the order of the walk, from 1; 0: not met
    size_t lowest = 0;   // number that is reached from here, or from what was met behind it, by one edge back
    size_t next = 0;     // of its edges, to be walked
    size_t entered = 0;  // by that edge
    bool described = false;
  };

  size_t other_end(size_t e, size_t p) const { return edges_[e].from == p ? edges_[e].to : edges_[e].from; }

  // Of all that hangs together with `start`.
  void find_bridges(size_t start) {
    std::vector<size_t> way = {start};
    at_[start].number = at_[start].lowest = ++num_met_;
    at_[start].entered = edges_.size();
    while (!way.empty()) {
      const size_t p = way.back();
      pipeline_at& here = at_[p];
      if (here.next < here.edges.size()) {
        const size_t e = here.edges[here.next++];
        if (e == here.entered) continue;
        pipeline_at& there = at_[other_end(e, p)];
        if (there.number > 0) {
          here.lowest = std::min(here.lowest, there.number);
          continue;
        }
        there.number = there.lowest = ++num_met_;
        there.entered = e;
        way.push_back(other_end(e, p));
        continue;
      }
      way.pop_back();
      if (way.empty()) continue;
      pipeline_at& before = at_[way.back()];
      before.lowest = std::min(before.lowest, here.lowest);
      if (here.lowest > before.number) on_circle_[here.entered] = false;
    }
  }

  // What hangs together by edges that are on circles, in ascending order.
  std::vector<size_t> component_of(size_t start) {
    std::vector<size_t> members, todo = {start};
    while (!todo.empty()) {
      const size_t p = todo.back();
      todo.pop_back();
      if (std::exchange(at_[p].described, true)) continue;
      members.push_back(p);
      for (const size_t e : at_[p].edges)
        if (on_circle_[e]) todo.push_back(other_end(e, p));
    }
    std::sort(members.begin(), members.end());
    return members;
  }

  // Its queues spill. Every circle has a pipeline with two ways out and one with two ways in.
  void describe(const std::vector<size_t>& members) {
    std::string fork, meeting;
    std::vector<size_t> queues;
    for (const size_t p : members) {
      std::vector<size_t> leaving;
      size_t entering = 0;
      for (const size_t e : at_[p].edges) {
        if (!on_circle_[e]) continue;
        if (edges_[e].from == p) leaving.insert(leaving.end(), edges_[e].queues.begin(), edges_[e].queues.end());
        entering += edges_[e].to == p ? edges_[e].queues.size() : 0;
      }
      if (leaving.size() > 1 && fork.empty()) fork = name(fork_of(leaving[0], leaving[1]));
      if (entering > 1) meeting = name(layout_.pipelines[p].head);
      queues.insert(queues.end(), leaving.begin(), leaving.end());
    }
    const std::string reason = fmt::format("branches of '{}' meet again at '{}' and can't run in step", fork, meeting);
    for (const size_t q : queues) {
      layout_.queues[q].kind = queue_kind::spilling;
      layout_.queues[q].reason = reason;
    }
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
  std::map<size_t, pipeline_at> at_;  // pipelines, by number
  size_t num_met_ = 0;
  std::vector<bool> on_circle_;  // of edges
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
    const auto same = !one_pace ? all.end() : std::find_if(all.begin(), all.end(), [&](const edge& e) {
      return e.from == from && e.to == to && in_step(g, layout, layout.queues[e.queues.front()], q);
    });
    if (same == all.end()) {
      all.push_back({from, to, {i}});
    } else {
      q.in_step_with = static_cast<int>(same->queues.front());
      same->queues.push_back(i);
    }
  }
  for (auto& [phase, of_phase] : edges) circle_finder(g, layout, std::move(of_phase)).run();
}

}  // namespace flowrun::plan
