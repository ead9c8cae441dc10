#include "cluster/stage_structure.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "engine/exec/report_structure.h"
#include "engine/plan/body_ports.h"

namespace flowrun::cluster {

namespace {

using exec::RunReport;

class structure {
 public:
  // `cut`: null for a body.
  structure(const plan::graph& g, const stages* cut, RunReport& report) : g_(g), cut_(cut), report_(report) {
    for (const RunReport::Node& n : report.nodes()) by_id_[n.id()] = &n;
  }

  // A head, which is a source, reads another stage's rows, sees all of its rows first or has several inputs, and the
  // nodes behind it that take a batch from hand to hand.
  void add_pipelines() {
    std::map<int, int> line_of;
    for (int n = 0; n < static_cast<int>(g_.nodes.size()); ++n) {
      if (plan::is_internal(at(n)) || is_apart(n)) continue;
      const int before = at(n).inputs.size() == 1 ? origin(at(n).inputs.front()).from_node : -1;
      const auto found = before < 0 ? line_of.end() : line_of.find(before);
      int line = report_.pipelines_size();
      if (found != line_of.end() && stage_of(before) == first_stage_of(n) && !at(n).inputs.front().stored) {
        line = found->second;
      } else {
        RunReport::Pipeline& out = *report_.add_pipelines();
        out.set_phase(static_cast<uint32_t>(first_stage_of(n) + 1));
        out.set_inside(g_.path);
      }
      line_of[n] = line;
      report_.mutable_pipelines(line)->add_nodes(plan::full_name(g_, at(n)));
    }
  }

  void add_edges() {
    exec::add_edges(
        g_,
        [this](const plan::input_port& from, size_t to, size_t input, RunReport::Edge& edge) {
          const bool is_exchanged = stage_of(from.from_node) != first_stage_of(static_cast<int>(to));
          edge.set_kind(is_exchanged ? "exchange" : g_.nodes[to].inputs[input].stored ? "stored" : "stream");
          count(from, to, edge);
        },
        report_);
  }

 private:
  const plan::node& at(int n) const { return g_.nodes[static_cast<size_t>(n)]; }
  // What begins in one stage and ends in another belongs to the pipelines of neither.
  bool is_apart(int n) const {
    return at(n).role() == plan::operator_role::breaker || at(n).role() == plan::operator_role::control ||
           first_stage_of(n) != stage_of(n);
  }
  plan::input_port origin(plan::input_port in) const {
    while (at(in.from_node).declaration == &plan::waiting_rows()) in = at(in.from_node).inputs.front();
    return in;
  }
  // From 0; -1 in a body.
  int stage_of(int n) const { return cut_ == nullptr ? -1 : cut_->of_node[static_cast<size_t>(n)]; }
  // Where its rows come in: a sort makes its runs in one stage, and is merged in another.
  int first_stage_of(int n) const {
    if (cut_ == nullptr) return -1;
    const int runs = cut_->of_runs[static_cast<size_t>(n)];
    return runs >= 0 ? runs : stage_of(n);
  }

  const RunReport::Node* counted(const plan::node& n) const {
    const auto found = by_id_.find(plan::full_name(g_, n));
    return found == by_id_.end() ? nullptr : found->second;
  }

  // As in a report of one process (exec/report_structure.cc), but that nobody counts the bytes that come to a node.
  void count(const plan::input_port& from, size_t to, RunReport::Edge& out) const {
    const plan::node& n = at(from.from_node);
    if (plan::is_body_stream(n) || n.outputs.size() != 1 || n.role() == plan::operator_role::control) {
      const plan::node& behind = g_.nodes[to];
      const RunReport::Node* const taken = counted(behind);
      if (taken == nullptr || behind.inputs.size() != 1 || behind.role() == plan::operator_role::control) return;
      if (taken->fused_with().empty()) out.set_rows(taken->rows_in());
      return;
    }
    const RunReport::Node* const given = counted(n);
    if (given == nullptr || !given->fused_with().empty()) return;
    out.set_rows(given->rows());
    out.set_bytes(given->bytes());
  }

  const plan::graph& g_;
  const stages* const cut_;
  RunReport& report_;
  std::map<std::string, const RunReport::Node*> by_id_;
};

void add_graph(const plan::graph& g, const stages* cut, std::set<const plan::graph*>& seen, RunReport& report) {
  if (!seen.insert(&g).second) return;
  structure of(g, cut, report);
  of.add_pipelines();
  of.add_edges();
  for (const plan::node& n : g.nodes)
    for (const auto& body : n.bodies) add_graph(*body, nullptr, seen, report);
}

}  // namespace

void add_structure(const plan::graph& g, const stages& cut, const std::vector<stage_time>& times, RunReport& report) {
  std::set<const plan::graph*> seen;
  add_graph(g, &cut, seen, report);
  for (size_t s = 0; s < cut.all.size(); ++s) {
    RunReport::Phase& out = *report.add_phases();
    for (const int n : cut.all[s].nodes) out.add_nodes(plan::full_name(g, g.nodes[static_cast<size_t>(n)]));
    for (const int n : cut.all[s].runs) out.add_nodes(plan::full_name(g, g.nodes[static_cast<size_t>(n)]));
    if (s >= times.size()) continue;
    out.set_state(times[s].state);
    out.set_start_seconds(times[s].start_seconds);
    out.set_seconds(times[s].seconds);
  }
}

}  // namespace flowrun::cluster
