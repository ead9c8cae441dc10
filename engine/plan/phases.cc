#include "engine/plan/phases.h"

#include <algorithm>
#include <climits>
#include <map>
#include <numeric>

namespace flowrun::plan {

namespace {

size_t producer_of(const pipeline_layout& layout, const queue& q) {
  return static_cast<size_t>(layout.gives[static_cast<size_t>(q.from_node)]);
}
size_t reader_of(const pipeline_layout& layout, const queue& q) {
  return static_cast<size_t>(layout.gives[static_cast<size_t>(q.to_node)]);
}

}  // namespace

std::vector<int> pipeline_levels(const graph& g, const pipeline_layout& layout) {
  const size_t num_pipelines = layout.pipelines.size();
  std::vector<int> level(num_pipelines, 0);
  std::vector<std::vector<size_t>> read_queues(num_pipelines);
  for (size_t q = 0; q < layout.queues.size(); ++q) read_queues[reader_of(layout, layout.queues[q])].push_back(q);
  for (size_t p = 0; p < num_pipelines; ++p) {  // as soon as possible; producers come first
    const auto head = static_cast<size_t>(layout.pipelines[p].head);
    if (g.nodes[head].role() == operator_role::breaker) level[p] = level[static_cast<size_t>(layout.feeds[head])] + 1;
    for (size_t q : read_queues[p]) level[p] = std::max(level[p], level[producer_of(layout, layout.queues[q])]);
  }
  for (size_t p = num_pipelines; p-- > 0;) {  // as late as possible; what depends on p comes first
    int latest = INT_MAX;
    for (int n : layout.pipelines[p].nodes)
      if (g.nodes[static_cast<size_t>(n)].role() == operator_role::breaker)
        latest = std::min(latest, level[static_cast<size_t>(layout.gives[static_cast<size_t>(n)])] - 1);
    for (int q : layout.pipelines[p].queues)
      latest = std::min(latest, level[reader_of(layout, layout.queues[static_cast<size_t>(q)])]);
    if (latest != INT_MAX) level[p] = latest;  // never below: the levels satisfied these bounds before
  }
  return level;
}

std::vector<phase> find_phases(const graph& g, pipeline_layout& layout) {
  const std::vector<int> level = pipeline_levels(g, layout);
  const size_t num_pipelines = layout.pipelines.size();
  std::vector<size_t> group(num_pipelines);  // union-find; the smallest pipeline stands for its group
  std::iota(group.begin(), group.end(), size_t{0});
  auto find = [&](size_t p) {
    while (group[p] != p) p = group[p] = group[group[p]];
    return p;
  };
  for (const queue& q : layout.queues) {
    const size_t a = find(producer_of(layout, q)), b = find(reader_of(layout, q));
    if (level[producer_of(layout, q)] == level[reader_of(layout, q)]) group[std::max(a, b)] = std::min(a, b);
  }
  std::map<std::pair<int, size_t>, std::vector<int>> members;
  for (size_t p = 0; p < num_pipelines; ++p) members[{level[p], find(p)}].push_back(static_cast<int>(p));
  std::vector<phase> phases;
  for (auto& [key, pipelines] : members) {
    for (int p : pipelines) layout.pipelines[static_cast<size_t>(p)].phase = static_cast<int>(phases.size());
    phases.emplace_back().pipelines = std::move(pipelines);
  }
  return phases;
}

}  // namespace flowrun::plan
