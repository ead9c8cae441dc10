#include "engine/plan/phases.h"

#include <algorithm>
#include <climits>
#include <map>
#include <numeric>
#include <queue>

#include "engine/base/error.h"

namespace flowrun::plan {

namespace {

size_t producer_of(const pipeline_layout& layout, const queue& q) {
  return static_cast<size_t>(layout.gives[static_cast<size_t>(q.from_node)]);
}
size_t reader_of(const pipeline_layout& layout, const queue& q) {
  return static_cast<size_t>(layout.gives[static_cast<size_t>(q.to_node)]);
}

}  // namespace

namespace {

// Every pipeline behind all that it depends on; what is ready at the same time keeps its order.
std::vector<size_t> in_order(size_t num_pipelines, const std::vector<pipeline_dependency>& edges) {
  std::vector<size_t> waiting(num_pipelines, 0), out;
  for (const pipeline_dependency& e : edges) ++waiting[e.after];
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t p = 0; p < num_pipelines; ++p)
    if (waiting[p] == 0) ready.push(p);
  while (!ready.empty()) {
    const size_t p = ready.top();
    ready.pop();
    out.push_back(p);
    for (const pipeline_dependency& e : edges)
      if (e.before == p && --waiting[e.after] == 0) ready.push(e.after);
  }
  FLOWRUN_CHECK(out.size() == num_pipelines);
  return out;
}

}  // namespace

std::vector<int> pipeline_levels(const graph& g, const pipeline_layout& layout) {
  const size_t num_pipelines = layout.pipelines.size();
  const std::vector<pipeline_dependency> edges = dependencies(g, layout);
  const std::vector<size_t> sequence = in_order(num_pipelines, edges);
  std::vector<int> level(num_pipelines, 0);
  for (size_t p : sequence)  // as soon as possible
    for (const pipeline_dependency& e : edges)
      if (e.after == p) level[p] = std::max(level[p], level[e.before] + (e.strict ? 1 : 0));
  for (auto p = sequence.rbegin(); p != sequence.rend(); ++p) {  // as late as possible
    int latest = INT_MAX;
    for (const pipeline_dependency& e : edges)
      if (e.before == *p) latest = std::min(latest, level[e.after] - (e.strict ? 1 : 0));
    if (latest != INT_MAX) level[*p] = latest;  // never below: the levels satisfied these bounds before
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
