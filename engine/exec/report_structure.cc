#include "engine/exec/report_structure.h"

#include <algorithm>
#include <set>

#include "engine/plan/body_ports.h"

namespace flowrun::exec {

namespace {

double seconds(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

// The edges of one graph by the names of their ends.
class named_edges {
 public:
  named_edges(const plan::graph& g, RunReport& report) : g_(g), report_(report) {}

  void add(size_t to, size_t input, const edge_description& describe) {
    const plan::node& n = g_.nodes[to];
    const bool leaves = n.declaration == &plan::body_result();
    const plan::input_port from = origin(n.inputs[input]);
    RunReport::Edge& out = begin(from);
    out.set_to(leaves ? g_.path : id_of(static_cast<int>(to)));
    out.set_to_port(leaves ? n.id : n.inputs[input].name);
    describe(from, to, input, out);
  }

  void add_values(size_t to, const plan::scalar_row& row) {
    RunReport::Edge& out = begin(origin(at(row.taken_by).inputs.front()));
    out.set_to(id_of(static_cast<int>(to)));
    out.set_to_port(row.name);
    out.set_kind("values");
  }

 private:
  const plan::node& at(int n) const { return g_.nodes[static_cast<size_t>(n)]; }
  std::string id_of(int n) const { return plan::full_name(g_, at(n)); }

  // Where the rows of an input come from, through nodes that only wait.
  plan::input_port origin(plan::input_port in) const {
    while (at(in.from_node).declaration == &plan::waiting_rows()) in = at(in.from_node).inputs.front();
    return in;
  }

  RunReport::Edge& begin(const plan::input_port& from) {
    const plan::node& n = at(from.from_node);
    const bool enters = plan::is_body_stream(n);
    RunReport::Edge& out = *report_.add_edges();
    out.set_from(enters ? g_.path : id_of(from.from_node));
    out.set_from_port(enters ? n.id : n.outputs[static_cast<size_t>(from.from_port)].name);
    return out;
  }

  const plan::graph& g_;
  RunReport& report_;
};

// One graph of the job, with the plan that is known of it.
class graph_structure {
 public:
  graph_structure(const graph_record& record, const plan::physical_plan& plan, RunReport& report)
      : record_(record), g_(*record.graph), plan_(plan), report_(report) {}

  void add_pipelines() {
    for (const plan::pipeline& p : plan_.pipelines) {
      auto* out = report_.add_pipelines();
      out->set_phase(static_cast<uint32_t>(p.phase) + 1);
      out->set_inside(g_.path);
      for (const std::string& id : nodes_of(p)) out->add_nodes(id);
    }
  }

  void add_edges() {
    exec::add_edges(
        g_,
        [this](const plan::input_port& from, size_t to, size_t input, RunReport::Edge& edge) {
          const plan::queue* q = plan_.queue_into(static_cast<int>(to), static_cast<int>(input));
          edge.set_kind(g_.nodes[to].inputs[input].stored       ? "stored"
                        : q == nullptr                          ? "stream"
                        : q->kind == plan::queue_kind::spilling ? "spilling"
                                                                : "queue");
          count(from, to, edge);
        },
        report_);
  }

  void add_memory() {
    for (const plan::memory_share& s : plan_.shares) {
      const plan::node& n = at(s.node);
      if (plan::is_internal(n) || (s.given == 0 && s.kept_bytes == 0)) continue;
      auto* out = report_.add_memory();
      out->set_node(id_of(s.node));
      out->set_part(plan::to_string(s.part));
      out->set_phase(static_cast<uint32_t>(s.phase) + 1);
      out->set_given_bytes(s.given);
      out->set_kept_bytes(s.kept_bytes);
    }
  }

  std::vector<std::string> nodes_of(const plan::pipeline& p) const {
    std::vector<std::string> out;
    if (!plan::is_internal(at(p.head))) out.push_back(id_of(p.head));
    for (int n : p.nodes)
      if (!plan::is_internal(at(n))) out.push_back(id_of(n));
    return out;
  }

 private:
  const plan::node& at(int n) const { return g_.nodes[static_cast<size_t>(n)]; }
  std::string id_of(int n) const { return plan::full_name(g_, at(n)); }

  // What a node with one output has given is what each of its readers takes; else what a node with one input has taken.
  // A node whose program a neighbour carries out has counted nothing: it takes what the one before it gave, which is
  // told by that one, or nothing is told.
  void count(const plan::input_port& from, size_t to, RunReport::Edge& out) const {
    const auto source = static_cast<size_t>(from.from_node);
    const node_counters& before = record_.counters[source];
    const node_counters& behind = record_.counters[to];
    const plan::node& n = at(from.from_node);
    if (record_.fused_with[source] >= 0) return;
    if (plan::is_body_stream(n) || n.outputs.size() != 1 || n.role() == plan::operator_role::control) {
      if (g_.nodes[to].inputs.size() != 1) return;
      if (g_.nodes[to].role() == plan::operator_role::control) return;
      out.set_rows(behind.rows_in);
      out.set_bytes(behind.bytes_in);
      return;
    }
    out.set_rows(before.rows_out);
    out.set_bytes(before.bytes_out);
  }

  const graph_record& record_;
  const plan::graph& g_;
  const plan::physical_plan& plan_;
  RunReport& report_;
};

void add_phases(const report_input& in, const graph_structure& own, RunReport& report) {
  for (size_t x = 0; x < in.plan->phases.size(); ++x) {
    const plan::phase& p = in.plan->phases[x];
    auto* out = report.add_phases();
    out->set_memory_bytes(p.memory_bytes);
    out->set_batches_bytes(p.batches_bytes);
    out->set_held_bytes(p.held_bytes);
    for (int line : p.pipelines)
      for (const std::string& id : own.nodes_of(in.plan->pipelines[static_cast<size_t>(line)])) out->add_nodes(id);
    if (x >= in.phases.size()) continue;
    const phase_time& t = in.phases[x];
    if (t.finished_before) {
      out->set_state(RunReport::Phase::finished_before);
    } else if (t.start_ns != 0) {
      out->set_state(t.end_ns != 0    ? RunReport::Phase::finished
                     : in.end_us != 0 ? RunReport::Phase::stopped
                                      : RunReport::Phase::running);
      out->set_start_seconds(seconds(t.start_ns - in.start_ns));
      out->set_seconds(seconds((t.end_ns != 0 ? t.end_ns : in.now_ns) - t.start_ns));
    }
  }
}

void add_graph(const report_input& in, const graph_record& record, const plan::physical_plan& plan,
               std::set<const plan::graph*>& seen, RunReport& report) {
  if (!seen.insert(record.graph).second) return;
  graph_structure structure(record, plan, report);
  structure.add_pipelines();
  structure.add_edges();
  if (record.graph->path.empty()) {
    structure.add_memory();
    add_phases(in, structure, report);
  }
  for (const plan::body_plan& b : plan.bodies) {
    const plan::graph* body = record.graph->nodes[static_cast<size_t>(b.node)].bodies.at(b.body).get();
    for (const graph_record* r : in.records)
      if (r->graph == body) add_graph(in, *r, *b.plan, seen, report);
  }
}

}  // namespace

void add_edges(const plan::graph& g, const edge_description& describe, RunReport& report) {
  named_edges edges(g, report);
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const plan::node& n = g.nodes[i];
    if (plan::is_internal(n) && n.declaration != &plan::body_result()) continue;
    for (size_t k = 0; k < n.inputs.size(); ++k) edges.add(i, k, describe);
    for (const plan::scalar_row& row : n.scalars) edges.add_values(i, row);
  }
}

void add_structure(const report_input& in, RunReport& report) {
  std::set<const plan::graph*> seen;
  add_graph(in, *in.records.front(), *in.plan, seen, report);
}

}  // namespace flowrun::exec
