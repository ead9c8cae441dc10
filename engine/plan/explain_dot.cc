#include <fmt/format.h>

#include "engine/base/units.h"
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

}  // namespace

std::string explain_dot(const graph& g, const physical_plan& plan) {
  std::string out = fmt::format(
      "digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fillcolor=white, "
      "fontname=Helvetica];\n"
      "  edge [fontname=Helvetica, fontsize=9];\n",
      escaped(g.job ? g.job->name() : ""));
  auto is_breaker = [&](int n) { return g.nodes[static_cast<size_t>(n)].role() == operator_role::breaker; };
  auto draw = [&](int index, int half) {
    const node& n = g.nodes[static_cast<size_t>(index)];
    std::string label = escaped(half_name(n, half)) + "\\n" + escaped(n.declaration->name);
    if (n.elided) label += " (elided)";
    const uint64_t memory = plan.share_of(index, half);
    if (memory > 0) label += "\\n" + format_bytes(memory);
    const std::string_view color = is_breaker(index)                       ? "lightsalmon"
                                   : n.inputs.empty() || n.outputs.empty() ? "lightblue"
                                                                           : "white";
    out += fmt::format("    n{}_{} [label=\"{}\", fillcolor={}];\n", index, half, label, color);
  };
  for (size_t x = 0; x < plan.phases.size(); ++x) {
    out += fmt::format(
        "  subgraph cluster_{} {{\n    label=\"phase {}\";\n    style=\"rounded,filled\";\n    fillcolor=gray95;\n", x,
        x + 1);
    for (int p : plan.phases[x].pipelines) {
      const pipeline& line = plan.pipelines[static_cast<size_t>(p)];
      draw(line.head, is_breaker(line.head) ? 1 : 0);
      for (int n : line.nodes) draw(n, 0);
    }
    out += "  }\n";
  }
  auto spills = [&](int to, int input) {
    for (const queue& q : plan.queues)
      if (q.to_node == to && q.to_input == input) return q.kind == queue_kind::spilling;
    return false;
  };
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const node& n = g.nodes[i];
    const int index = static_cast<int>(i);
    if (is_breaker(index)) out += fmt::format("  n{0}_0 -> n{0}_1 [style=dashed, label=\"sorted runs\"];\n", i);
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      const int from = n.inputs[k].from_node;
      const output_port& port = g.input_of(n, k);
      std::string label = escaped(columns_of(port.type));
      if (!port.sorted_by.empty()) label += "\\nby " + escaped(to_string(port.sorted_by));
      const bool spilling = spills(index, static_cast<int>(k));
      if (spilling) label += "\\nspilling queue";
      out += fmt::format("  n{}_{} -> n{}_0 [label=\"{}\"{}];\n", from, is_breaker(from) ? 1 : 0, i, label,
                         spilling ? ", color=red" : "");
    }
  }
  return out + "}\n";
}

}  // namespace flowrun::plan
