#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/base/units.h"
#include "engine/plan/body_ports.h"
#include "engine/plan/explain.h"

namespace flowrun::plan {

namespace {

// For a quoted string of dot.
std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string columns_of(const record::row_type& type) {
  constexpr size_t most = 4;
  std::string out;
  for (size_t i = 0; i < std::min(type.num_columns(), most); ++i)
    out += fmt::format("{}{}: {}", i == 0 ? "" : ", ", type[i].name, record::to_string(type[i].type));
  return type.num_columns() > most ? out + ", …" : out;
}

// One graph and what is inside of its control nodes; `prefix` keeps the names of their boxes apart.
class dot_explainer {
 public:
  dot_explainer(const graph& g, const physical_plan& plan, std::string prefix, std::string& out)
      : g_(g), plan_(plan), prefix_(std::move(prefix)), out_(out) {}

  void run() {
    for (size_t x = 0; x < plan_.phases.size(); ++x) draw_phase(x);
    // Rows that no node reads one by one lie in a vector, or in a file that is sought in.
    for (size_t i = 0; i < g_.nodes.size(); ++i)
      if (!drawn_.contains(static_cast<int>(i)) && !is_breaker(static_cast<int>(i))) draw(static_cast<int>(i));
    for (size_t i = 0; i < g_.nodes.size(); ++i) draw_edges(static_cast<int>(i));
    for (const body_plan& b : plan_.bodies) draw_body(b);
  }

 private:
  const node& at(int n) const { return g_.nodes[static_cast<size_t>(n)]; }
  bool is_breaker(int n) const { return at(n).role() == operator_role::breaker; }
  // A breaker has two: one that makes runs, and one that `merges`.
  std::string box(int n, bool merges = false) const { return fmt::format("{}n{}_{}", prefix_, n, merges ? 1 : 0); }
  std::string store(int n, size_t input) const { return fmt::format("{}s{}_{}", prefix_, n, input); }

  void draw(int index, bool merges = false) {
    const node& n = at(index);
    drawn_.insert(index);
    const node_part part = merges || n.stores() ? node_part::work
                           : is_breaker(index)  ? node_part::intake
                                                : node_part::whole;
    std::string label = escaped(part_name(n, part)) + "\\n" + escaped(n.declaration->name);
    if (n.elided) label += " (elided)";
    const uint64_t memory = plan_.share_of(index, part);
    if (memory > 0) label += "\\n" + format_bytes(memory);
    const std::string_view color = is_breaker(index)                       ? "lightsalmon"
                                   : n.inputs.empty() || n.outputs.empty() ? "lightblue"
                                                                           : "white";
    out_ += fmt::format("    {} [label=\"{}\", fillcolor={}];\n", box(index, merges), label, color);
  }

  void draw_stored(const stored_input& s) {
    std::string label = escaped(at(s.node).id + "." + at(s.node).inputs[static_cast<size_t>(s.input)].name);
    label += "\\nstored";
    const uint64_t memory = plan_.share_of(s.node, node_part::intake, s.input);
    if (memory > 0) label += "\\n" + format_bytes(memory);
    out_ += fmt::format("    {} [label=\"{}\", fillcolor=lightsalmon];\n", store(s.node, static_cast<size_t>(s.input)),
                        label);
  }

  void draw_phase(size_t x) {
    out_ += fmt::format(
        "  subgraph cluster_{}{} {{\n    label=\"phase {}\";\n    style=\"rounded,filled\";\n    "
        "fillcolor=gray95;\n",
        prefix_, x, x + 1);
    for (int p : plan_.phases[x].pipelines) {
      const pipeline& line = plan_.pipelines[static_cast<size_t>(p)];
      if (at(line.head).role() != operator_role::control || line.control) draw(line.head, is_breaker(line.head));
      for (int n : line.nodes) draw(n);
      for (const stored_input& s : line.stores) draw_stored(s);
    }
    out_ += "  }\n";
  }

  // A stored input is a box of its own where something fills it.
  bool is_filled(int to, int input) const {
    return std::any_of(plan_.pipelines.begin(), plan_.pipelines.end(), [&](const pipeline& p) {
      return std::find(p.stores.begin(), p.stores.end(), stored_input{to, input}) != p.stores.end();
    });
  }

  void draw_edges(int index) {
    const node& n = at(index);
    if (is_breaker(index))
      out_ += fmt::format("  {} -> {} [style=dashed, label=\"sorted runs\"];\n", box(index), box(index, true));
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      const int from = n.inputs[k].from_node;
      const output_port& port = g_.input_of(n, k);
      std::string label = escaped(columns_of(port.type));
      if (!port.sorted_by.empty()) label += "\\nby " + escaped(to_string(port.sorted_by));
      const queue* q = plan_.queue_into(index, static_cast<int>(k));
      const bool spilling = q != nullptr && q->kind == queue_kind::spilling;
      if (spilling) label += "\\nspilling queue";
      const bool filled = is_filled(index, static_cast<int>(k));
      out_ += fmt::format("  {} -> {} [label=\"{}\"{}];\n", box(from, is_breaker(from)),
                          filled ? store(index, k) : box(index), label, spilling ? ", color=red" : "");
      if (filled) out_ += fmt::format("  {} -> {} [style=dashed];\n", store(index, k), box(index));
    }
    if (is_internal(n)) return;
    for (const scalar_row& row : n.scalars)
      out_ +=
          fmt::format("  {} -> {} [style=dashed, label=\"{}\"];\n", box(row.taken_by), box(index), escaped(row.name));
  }

  void draw_body(const body_plan& b) {
    const std::string inside = fmt::format("{}b{}_{}_", prefix_, b.node, b.body);
    const graph& body = *at(b.node).bodies[b.body];
    out_ += fmt::format("  subgraph cluster_{} {{\n  label=\"inside of {}\";\n  style=\"rounded,dashed\";\n", inside,
                        escaped(body.path));
    dot_explainer(body, *b.plan, inside, out_).run();
    out_ += "  }\n";
  }

  const graph& g_;
  const physical_plan& plan_;
  const std::string prefix_;
  std::string& out_;
  std::set<int> drawn_;
};

}  // namespace

std::string explain_dot(const graph& g, const physical_plan& plan) {
  std::string out = fmt::format(
      "digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fillcolor=white, "
      "fontname=Helvetica];\n"
      "  edge [fontname=Helvetica, fontsize=9];\n",
      escaped(g.job ? g.job->name() : ""));
  dot_explainer(g, plan, {}, out).run();
  return out + "}\n";
}

}  // namespace flowrun::plan
