#include "engine/plan/drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/base/units.h"
#include "engine/plan/body_ports.h"
#include "engine/plan/explain.h"

namespace flowrun::plan {

namespace {

std::string columns_of(const record::row_type& type) {
  constexpr size_t most = 4;
  std::string out;
  for (size_t i = 0; i < std::min(type.num_columns(), most); ++i)
    out += fmt::format("{}{}: {}", i == 0 ? "" : ", ", type[i].name, record::to_string(type[i].type));
  return type.num_columns() > most ? out + ", …" : out;
}

// One graph and what is inside of its control nodes; `prefix` keeps the names of their boxes apart.
class drawer {
 public:
  drawer(const graph& g, const physical_plan& plan, std::string prefix, drawing& out)
      : g_(g), plan_(plan), prefix_(std::move(prefix)), out_(out) {}

  void run() {
    for (size_t x = 0; x < plan_.phases.size(); ++x) draw_phase(x);
    // Rows that no node reads one by one lie in a vector, or in a file that is sought in.
    for (size_t i = 0; i < g_.nodes.size(); ++i)
      if (!drawn_.contains(static_cast<int>(i)) && !is_breaker(static_cast<int>(i)))
        draw(out_.boxes, static_cast<int>(i));
    for (size_t i = 0; i < g_.nodes.size(); ++i) draw_edges(static_cast<int>(i));
    for (const body_plan& b : plan_.bodies) draw_body(b);
  }

 private:
  const node& at(int n) const { return g_.nodes[static_cast<size_t>(n)]; }
  bool is_breaker(int n) const { return at(n).role() == operator_role::breaker; }
  // A breaker has two: one that makes runs, and one that `merges`.
  std::string box(int n, bool merges = false) const { return fmt::format("{}n{}_{}", prefix_, n, merges ? 1 : 0); }
  std::string store(int n, size_t input) const { return fmt::format("{}s{}_{}", prefix_, n, input); }

  void draw(std::vector<drawn_box>& to, int index, bool merges = false) {
    const node& n = at(index);
    drawn_.insert(index);
    const node_part part = merges || n.stores() ? node_part::work
                           : is_breaker(index)  ? node_part::intake
                                                : node_part::whole;
    drawn_box out{box(index, merges), {part_name(n, part), n.declaration->name + (n.elided ? " (elided)" : "")}};
    const uint64_t memory = plan_.share_of(index, part);
    if (memory > 0) out.lines.push_back(format_bytes(memory));
    out.kind = is_breaker(index)                       ? box_kind::store
               : n.inputs.empty() || n.outputs.empty() ? box_kind::end
                                                       : box_kind::stage;
    to.push_back(std::move(out));
  }

  void draw_stored(std::vector<drawn_box>& to, const stored_input& s) {
    drawn_box out{store(s.node, static_cast<size_t>(s.input)),
                  {at(s.node).id + "." + at(s.node).inputs[static_cast<size_t>(s.input)].name, "stored"},
                  box_kind::store};
    const uint64_t memory = plan_.share_of(s.node, node_part::intake, s.input);
    if (memory > 0) out.lines.push_back(format_bytes(memory));
    to.push_back(std::move(out));
  }

  void draw_phase(size_t x) {
    drawn_phase out{fmt::format("{}{}", prefix_, x), fmt::format("phase {}", x + 1), {}};
    for (int p : plan_.phases[x].pipelines) {
      const pipeline& line = plan_.pipelines[static_cast<size_t>(p)];
      if (at(line.head).role() != operator_role::control || line.control)
        draw(out.boxes, line.head, is_breaker(line.head));
      for (int n : line.nodes) draw(out.boxes, n);
      for (const stored_input& s : line.stores) draw_stored(out.boxes, s);
    }
    out_.phases.push_back(std::move(out));
  }

  // A stored input is a box of its own where something fills it.
  bool is_filled(int to, int input) const {
    return std::any_of(plan_.pipelines.begin(), plan_.pipelines.end(), [&](const pipeline& p) {
      return std::find(p.stores.begin(), p.stores.end(), stored_input{to, input}) != p.stores.end();
    });
  }

  void draw_edges(int index) {
    const node& n = at(index);
    if (is_breaker(index)) out_.edges.push_back({box(index), box(index, true), {"sorted runs"}, true});
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      const int from = n.inputs[k].from_node;
      const output_port& port = g_.input_of(n, k);
      const bool filled = is_filled(index, static_cast<int>(k));
      drawn_edge out{box(from, is_breaker(from)), filled ? store(index, k) : box(index), {columns_of(port.type)}};
      if (!port.sorted_by.empty()) out.lines.push_back("by " + to_string(port.sorted_by));
      const queue* q = plan_.queue_into(index, static_cast<int>(k));
      out.spills = q != nullptr && q->kind == queue_kind::spilling;
      if (out.spills) out.lines.emplace_back("spilling queue");
      out_.edges.push_back(std::move(out));
      if (filled) out_.edges.push_back({store(index, k), box(index), {}, true});
    }
    if (is_internal(n)) return;
    for (const scalar_row& row : n.scalars) out_.edges.push_back({box(row.taken_by), box(index), {row.name}, true});
  }

  void draw_body(const body_plan& b) {
    const graph& body = *at(b.node).bodies[b.body];
    drawing inside;
    inside.id = fmt::format("{}b{}_{}_", prefix_, b.node, b.body);
    inside.label = "inside of " + body.path;
    drawer(body, *b.plan, inside.id, inside).run();
    out_.inside.push_back(std::move(inside));
  }

  const graph& g_;
  const physical_plan& plan_;
  const std::string prefix_;
  drawing& out_;
  std::set<int> drawn_;
};

}  // namespace

drawing draw(const graph& g, const physical_plan& plan) {
  drawing out;
  out.label = g.job ? g.job->name() : "";
  drawer(g, plan, {}, out).run();
  return out;
}

std::string explain_dot(const graph& g, const physical_plan& plan) { return dot_text(draw(g, plan)); }

}  // namespace flowrun::plan
