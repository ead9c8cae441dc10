// Drawings in the languages of programs that lay them out themselves.
#include <fmt/format.h>

#include "engine/plan/drawing.h"

namespace flowrun::plan {

namespace {

template <class Escaped>
std::string label_of(const std::vector<std::string>& lines, std::string_view separator, const Escaped& escaped) {
  std::string out;
  for (const std::string& line : lines) out += (out.empty() ? "" : std::string(separator)) + escaped(line);
  return out;
}

// For a quoted string of dot.
std::string in_dot(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string_view dot_color(box_kind kind) {
  switch (kind) {
    case box_kind::stage: return "white";
    case box_kind::end: return "lightblue";
    case box_kind::store: return "lightsalmon";
  }
  return {};
}

std::string dot_parts(const drawing& of) {
  std::string out;
  const auto add = [&out](const drawn_box& box) {
    out += fmt::format("    {} [label=\"{}\", fillcolor={}];\n", box.id, label_of(box.lines, "\\n", in_dot),
                       dot_color(box.kind));
  };
  for (const drawn_phase& phase : of.phases) {
    out += fmt::format(
        "  subgraph cluster_{} {{\n    label=\"{}\";\n    style=\"rounded,filled\";\n    fillcolor=gray95;\n", phase.id,
        in_dot(phase.label));
    for (const drawn_box& box : phase.boxes) add(box);
    out += "  }\n";
  }
  for (const drawn_box& box : of.boxes) add(box);
  for (const drawn_edge& edge : of.edges) {
    std::string how = edge.dashed ? "style=dashed" : "";
    if (!edge.lines.empty())
      how += fmt::format("{}label=\"{}\"", how.empty() ? "" : ", ", label_of(edge.lines, "\\n", in_dot));
    if (edge.spills) how += ", color=red";
    out += fmt::format("  {} -> {} [{}];\n", edge.from, edge.to, how);
  }
  for (const drawing& inside : of.inside)
    out += fmt::format("  subgraph cluster_{} {{\n  label=\"{}\";\n  style=\"rounded,dashed\";\n{}  }}\n", inside.id,
                       in_dot(inside.label), dot_parts(inside));
  return out;
}

// For a quoted text of Mermaid, which reads HTML in it, and Markdown, and codes between # and ;.
std::string in_mermaid(std::string_view text) {
  std::string out;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F)
      out += '?';
    else if (byte < 0x80 && std::string_view("\"#<>&`*_;\\|{}[]").find(c) != std::string_view::npos)
      out += fmt::format("#{};", static_cast<int>(c));
    else
      out += c;
  }
  return out;
}

std::string mermaid_label(const std::vector<std::string>& lines) {
  const std::string text = label_of(lines, "<br/>", in_mermaid);
  return "\"" + (text.empty() ? " " : text) + "\"";
}

std::string mermaid_parts(const drawing& of, std::string_view indent) {
  std::string out;
  const std::string deeper = std::string(indent) + "  ";
  const auto add = [&out](const drawn_box& box, std::string_view before) {
    constexpr std::string_view classes[] = {"stage", "end_", "store"};
    out += fmt::format("{}{}[{}]:::{}\n", before, box.id, mermaid_label(box.lines),
                       classes[static_cast<size_t>(box.kind)]);
  };
  for (const drawn_phase& phase : of.phases) {
    out += fmt::format("{}subgraph phase_{}[{}]\n", indent, phase.id, mermaid_label({phase.label}));
    for (const drawn_box& box : phase.boxes) add(box, deeper);
    out += fmt::format("{}end\n", indent);
  }
  for (const drawn_box& box : of.boxes) add(box, indent);
  for (const drawn_edge& edge : of.edges)
    out += fmt::format("{}{} {}{} {}\n", indent, edge.from,
                       edge.dashed   ? "-.->"
                       : edge.spills ? "==>"
                                     : "-->",
                       edge.lines.empty() ? "" : "|" + mermaid_label(edge.lines) + "|", edge.to);
  for (const drawing& inside : of.inside)
    out += fmt::format("{}subgraph graph_{}[{}]\n{}{}end\n", indent, inside.id, mermaid_label({inside.label}),
                       mermaid_parts(inside, deeper), indent);
  return out;
}

}  // namespace

std::string dot_text(const drawing& of) {
  return fmt::format(
             "digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fillcolor=white, "
             "fontname=Helvetica];\n"
             "  edge [fontname=Helvetica, fontsize=9];\n",
             in_dot(of.label)) +
         dot_parts(of) + "}\n";
}

std::string mermaid_text(const drawing& of) {
  return "flowchart LR\n" + mermaid_parts(of, "  ") +
         "  classDef stage fill:#ffffff,stroke:#333333,color:#000000\n"
         "  classDef end_ fill:#add8e6,stroke:#333333,color:#000000\n"
         "  classDef store fill:#ffa07a,stroke:#333333,color:#000000\n";
}

}  // namespace flowrun::plan
