#include "engine/plan/pipelines.h"

#include <algorithm>

#include "engine/plan/body_ports.h"

namespace flowrun::plan {

namespace {

size_t at(int i) { return static_cast<size_t>(i); }

class cutter {
 public:
  explicit cutter(const graph& g) : graph_(g) {
    out_.feeds.assign(g.nodes.size(), -1);
    out_.gives.assign(g.nodes.size(), -1);
  }

  pipeline_layout run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) place(static_cast<int>(i));
    return std::move(out_);
  }

 private:
  const node& of(int n) const { return graph_.nodes[at(n)]; }

  void place(int index) {
    const node& n = of(index);
    const operator_role role = n.role();
    store_inputs(index);
    switch (role) {
      case operator_role::control:
        out_.feeds[at(index)] = start(index);
        out_.pipelines.back().control = true;
        if (is_read(n)) out_.gives[at(index)] = start(index);
        return;
      case operator_role::source:
        if (flows(index) || (!is_body_stream(n) && !is_read(n))) out_.gives[at(index)] = start(index);
        return;
      case operator_role::meeting:
        for (size_t k = 0; k < n.inputs.size(); ++k)
          if (!n.inputs[k].stored) add_queue(index, k);
        out_.gives[at(index)] = start(index);
        return;
      default: break;
    }
    const size_t k = n.flowing_input();
    const int producer = out_.gives[at(n.inputs[k].from_node)];
    if (must_be_cut_off(index, producer)) {
      add_queue(index, k);
      out_.gives[at(index)] = start(index);
      return;
    }
    out_.pipelines[at(producer)].nodes.push_back(index);
    out_.feeds[at(index)] = producer;
    out_.gives[at(index)] = role == operator_role::breaker ? start(index) : producer;
  }

  int start(int head) {
    out_.pipelines.emplace_back().head = head;
    return static_cast<int>(out_.pipelines.size()) - 1;
  }

  void store_inputs(int index) {
    const node& n = of(index);
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      if (!is_filled(graph_, n, n.inputs[k])) continue;
      const int producer = out_.gives[at(n.inputs[k].from_node)];
      out_.pipelines[at(producer)].stores.push_back({index, static_cast<int>(k)});
    }
  }

  void add_queue(int index, size_t input) {
    const input_port& in = of(index).inputs[input];
    out_.pipelines[at(out_.gives[at(in.from_node)])].queues.push_back(static_cast<int>(out_.queues.size()));
    queue& q = out_.queues.emplace_back();
    q.from_node = in.from_node;
    q.from_port = in.from_port;
    q.to_node = index;
    q.to_input = static_cast<int>(input);
  }

  static bool is_read(const node& n) {
    return std::any_of(n.outputs.begin(), n.outputs.end(), [](const output_port& o) { return !o.consumers.empty(); });
  }

  // Whether some consumer reads the rows one by one. None does where they lie in a vector or are sought in their file.
  bool flows(int index) const {
    for (const output_port& port : of(index).outputs)
      for (const auto& [consumer, input] : port.consumers)
        if (const input_port& in = of(consumer).inputs[at(input)]; !in.stored || is_filled(graph_, of(consumer), in))
          return true;
    return false;
  }

  // The pipelines that fill stored inputs run before the stage, and so do those that end in a row that it names. If one
  // of them is the pipeline that the stage is in, or depends on that one, the stage can't stay there.
  bool must_be_cut_off(int index, int producer) const {
    std::vector<int> fillers;
    for (const input_port& in : of(index).inputs)
      if (is_filled(graph_, of(index), in)) fillers.push_back(out_.gives[at(in.from_node)]);
    for (const scalar_row& row : of(index).scalars) fillers.push_back(out_.feeds[at(row.taken_by)]);
    if (fillers.empty()) return false;
    const std::vector<pipeline_dependency> edges = dependencies(graph_, out_);
    std::vector<bool> behind(out_.pipelines.size(), false);
    std::vector<size_t> todo{at(producer)};
    while (!todo.empty()) {
      const size_t p = todo.back();
      todo.pop_back();
      if (behind[p]) continue;
      behind[p] = true;
      for (const pipeline_dependency& e : edges)
        if (e.before == p) todo.push_back(e.after);
    }
    return std::any_of(fillers.begin(), fillers.end(), [&](int f) { return behind[at(f)]; });
  }

  const graph& graph_;
  pipeline_layout out_;
};

}  // namespace

pipeline_layout find_pipelines(const graph& g) { return cutter(g).run(); }

std::vector<pipeline_dependency> dependencies(const graph& g, const pipeline_layout& layout) {
  std::vector<pipeline_dependency> out;
  for (size_t p = 0; p < layout.pipelines.size(); ++p) {
    const pipeline& line = layout.pipelines[p];
    const int filled_by = layout.feeds[at(line.head)];
    const bool second_half = !line.control && filled_by >= 0;  // of a breaker or a control node
    if (second_half) out.push_back({at(filled_by), p, true});
    for (int q : line.queues) {
      // A stage that is being placed has a queue but no pipeline yet.
      const int reader = layout.gives[at(layout.queues[at(q)].to_node)];
      if (reader >= 0) out.push_back({p, at(reader), false});
    }
    for (const stored_input& s : line.stores)
      if (const int user = layout.uses(s.node); user >= 0) out.push_back({p, at(user), true});
  }
  for (size_t i = 0; i < g.nodes.size(); ++i)
    for (const scalar_row& row : g.nodes[i].scalars)
      if (const int user = layout.uses(static_cast<int>(i)); user >= 0)
        out.push_back({at(layout.feeds[at(row.taken_by)]), at(user), true});
  return out;
}

std::vector<std::pair<int, int>> path_to(const graph& g, const pipeline_layout& layout, const queue& q) {
  std::vector<std::pair<int, int>> path;
  const int head = layout.pipelines[at(layout.gives[at(q.from_node)])].head;
  int n = q.from_node, port = q.from_port;
  for (;;) {
    path.emplace_back(n, port);
    if (n == head) break;
    const input_port& in = g.nodes[at(n)].inputs[g.nodes[at(n)].flowing_input()];
    n = in.from_node;
    port = in.from_port;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace flowrun::plan
