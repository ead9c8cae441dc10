// A plan as a picture: what is drawn is decided once, and written for Graphviz, for Mermaid, or as SVG. Pure.
#pragma once

#include <string>
#include <vector>

#include "engine/plan/physical_plan.h"

namespace flowrun::plan {

enum class box_kind {
  stage,  // what rows go through
  end,    // a source or a sink
  store   // where rows wait for a later phase: half of a breaker, a stored input
};

struct drawn_box {
  std::string id;
  std::vector<std::string> lines;
  box_kind kind = box_kind::stage;
};

struct drawn_edge {
  std::string from;
  std::string to;
  std::vector<std::string> lines;
  bool dashed = false;  // no stream of rows: runs and stored rows, values
  bool spills = false;
};

struct drawn_phase {
  std::string id;
  std::string label;
  std::vector<drawn_box> boxes;
};

// A graph, with the graphs inside of its nodes. Its edges join boxes of its own.
struct drawing {
  std::string id;
  std::string label;
  std::vector<drawn_phase> phases;
  std::vector<drawn_box> boxes;  // outside of phases
  std::vector<drawn_edge> edges;
  std::vector<drawing> inside;
};

// A group for each phase, a breaker as two halves.
drawing draw(const graph& g, const physical_plan& plan);

std::string dot_text(const drawing& of);
std::string mermaid_text(const drawing& of);
// Boxes in columns, each behind all that it reads; graphs inside of nodes below. Needs no other program.
std::string svg_text(const drawing& of);

}  // namespace flowrun::plan
