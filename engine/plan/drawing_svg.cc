// A drawing as SVG. Boxes stand in columns, each right of all that it reads; in a column, each near the boxes that it
// is joined with. An edge over several columns has a place of its own in each, so that it goes through no box.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/plan/drawing.h"
#include "specs/source_text.h"

namespace flowrun::plan {

namespace {

constexpr double letter = 7.2, line_height = 15, margin = 24, row_gap = 18;
constexpr double label_letter = 5.6, label_height = 11;
constexpr int sweeps = 8;

// Columns of a terminal would do as well: what counts is that nothing is cut off.
double width_of(std::string_view text, double of_letter) {
  return of_letter *
         static_cast<double>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

double width_of(const std::vector<std::string>& lines, double of_letter) {
  double out = 0;
  for (const std::string& line : lines) out = std::max(out, width_of(line, of_letter));
  return out;
}

// XML allows neither most control characters nor U+FFFE and U+FFFF, not even as references, nor what is no UTF-8. It
// allows tab, newline and carriage return, but a reader makes a newline of the last one, unless it is a reference.
std::string in_xml(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = specs::utf8_length(text);
    const std::string_view c = text.substr(0, std::max<size_t>(length, 1));
    text.remove_prefix(c.size());
    if (c == "&")
      out += "&amp;";
    else if (c == "<")
      out += "&lt;";
    else if (c == ">")
      out += "&gt;";
    else if (c == "\"")
      out += "&quot;";
    else if (c == "\r")
      out += "&#13;";
    else if (length == 0 || (static_cast<unsigned char>(c[0]) < 0x20 && c != "\t" && c != "\n") || c == "\x7F" ||
             c == "\uFFFE" || c == "\uFFFF")
      out += "\uFFFD";
    else
      out += c;
  }
  return out;
}

// A box, or the place of an edge in a column that it crosses.
struct place {
  const drawn_box* box = nullptr;
  std::string phase;
  size_t column = 0;
  std::vector<size_t> before;
  std::vector<size_t> behind;
  double x = 0, y = 0, width = 0, height = 0;  // x, y: the corner
  double middle() const { return y + height / 2; }
};

class layout {
 public:
  explicit layout(const drawing& of) : of_(of) {
    for (const drawn_phase& phase : of.phases)
      for (const drawn_box& box : phase.boxes) add(box, phase.label);
    for (const drawn_box& box : of.boxes) add(box, "");
    choose_columns();
    for (const drawn_edge& edge : of.edges) lay_edge(edge);
    order_columns();
    set_places();
  }

  double width() const { return width_; }
  double height() const { return height_; }

  std::string text(double top) const {
    std::string out;
    for (const route& r : routes_) out += edge_text(r, top);
    for (const place& p : places_)
      if (p.box != nullptr) out += box_text(p, top);
    return out;
  }

 private:
  struct route {
    const drawn_edge* edge;
    std::vector<size_t> through;
  };

  void add(const drawn_box& box, const std::string& phase) {
    if (!known_.emplace(box.id, places_.size()).second) return;
    place p;
    p.box = &box;
    p.phase = phase;
    p.width = std::max({width_of(box.lines, letter), width_of(phase, label_letter), 40.0}) + 20;
    p.height = line_height * static_cast<double>(box.lines.size()) + 12 + (phase.empty() ? 0 : label_height);
    places_.push_back(std::move(p));
  }

  // The longest way from a box without inputs. As many rounds as boxes, which also ends where edges form a ring.
  void choose_columns() {
    bool changed = true;
    for (size_t round = 0; changed && round < places_.size(); ++round) {
      changed = false;
      for (const drawn_edge& edge : of_.edges) {
        const auto from = known_.find(edge.from), to = known_.find(edge.to);
        if (from == known_.end() || to == known_.end() || from == to) continue;
        const size_t least = places_[from->second].column + 1;
        if (places_[to->second].column >= least) continue;
        places_[to->second].column = least;
        changed = true;
      }
    }
  }

  void lay_edge(const drawn_edge& edge) {
    const auto from = known_.find(edge.from), to = known_.find(edge.to);
    if (from == known_.end() || to == known_.end()) return;
    route r{&edge, {from->second}};
    for (size_t c = places_[from->second].column + 1; c < places_[to->second].column; ++c) {
      place p;
      p.column = c;
      p.height = 8;
      r.through.push_back(places_.size());
      places_.push_back(std::move(p));
    }
    r.through.push_back(to->second);
    for (size_t i = 1; i < r.through.size(); ++i) {
      places_[r.through[i - 1]].behind.push_back(r.through[i]);
      places_[r.through[i]].before.push_back(r.through[i - 1]);
    }
    routes_.push_back(std::move(r));
  }

  void order_columns() {
    for (size_t i = 0; i < places_.size(); ++i) {
      if (columns_.size() <= places_[i].column) columns_.resize(places_[i].column + 1);
      columns_[places_[i].column].push_back(i);
    }
    stack();
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      for (size_t k = 0; k < columns_.size(); ++k) {
        std::vector<size_t>& column = columns_[sweep % 2 == 0 ? k : columns_.size() - 1 - k];
        std::map<size_t, double> wanted;
        for (size_t i : column) {
          const std::vector<size_t>& near = sweep % 2 == 0 ? places_[i].before : places_[i].behind;
          double sum = 0;
          for (size_t n : near) sum += places_[n].middle();
          wanted[i] = near.empty() ? places_[i].middle() : sum / static_cast<double>(near.size());
        }
        std::stable_sort(column.begin(), column.end(), [&](size_t a, size_t b) { return wanted[a] < wanted[b]; });
        stack();
      }
    }
  }

  // Columns one place below the other, centred on a common line.
  void stack() {
    std::vector<double> heights;
    for (const std::vector<size_t>& column : columns_) {
      double height = column.empty() ? 0 : -row_gap;
      for (size_t i : column) height += places_[i].height + row_gap;
      heights.push_back(height);
    }
    height_ = heights.empty() ? 0 : *std::max_element(heights.begin(), heights.end());
    for (size_t c = 0; c < columns_.size(); ++c) {
      double y = (height_ - heights[c]) / 2;
      for (size_t i : columns_[c]) {
        places_[i].y = y;
        y += places_[i].height + row_gap;
      }
    }
  }

  void set_places() {
    std::vector<double> widths(columns_.size(), 0), gaps(columns_.size(), 40);
    for (const place& p : places_) widths[p.column] = std::max(widths[p.column], p.width);
    for (const route& r : routes_) {
      double& gap = gaps[places_[r.through.front()].column];
      gap = std::max(gap, width_of(r.edge->lines, label_letter) + 30);
    }
    double x = margin;
    std::vector<double> starts;
    for (size_t c = 0; c < columns_.size(); ++c) {
      starts.push_back(x);
      x += widths[c] + (c + 1 < columns_.size() ? gaps[c] : 0);
    }
    width_ = x + margin;
    for (place& p : places_) {
      if (p.box == nullptr) p.width = widths[p.column];
      p.x = starts[p.column];
    }
  }

  std::string edge_text(const route& r, double top) const {
    std::string path;
    const place& first = places_[r.through.front()];
    double x = first.x + first.width, y = top + first.middle();
    path = fmt::format("M{:.1f},{:.1f}", x, y);
    double label_x = x, label_y = y;
    for (size_t i = 1; i < r.through.size(); ++i) {
      const place& p = places_[r.through[i]];
      const double to_y = top + p.middle(), bend = (p.x - x) / 2;
      path += fmt::format(" C{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}", x + bend, y, p.x - bend, to_y, p.x, to_y);
      if (i == 1) label_x = (x + p.x) / 2, label_y = (y + to_y) / 2;
      x = p.x, y = to_y;
      if (p.box == nullptr) path += fmt::format(" H{:.1f}", x = p.x + p.width);
    }
    std::string out = fmt::format("<path d=\"{}\" class=\"edge{}{}\"/>\n", path, r.edge->dashed ? " dashed" : "",
                                  r.edge->spills ? " spills" : "");
    double line_y = label_y - 4 - label_height * (static_cast<double>(r.edge->lines.size()) - 1);
    for (const std::string& line : r.edge->lines) {
      out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"label\">{}</text>\n", label_x, line_y, in_xml(line));
      line_y += label_height;
    }
    return out;
  }

  static std::string box_text(const place& p, double top) {
    constexpr const char* classes[] = {"stage", "end", "store"};
    std::string out =
        fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"6\" class=\"{}\"/>\n", p.x,
                    top + p.y, p.width, p.height, classes[static_cast<size_t>(p.box->kind)]);
    const double middle = p.x + p.width / 2;
    double y = top + p.y + line_height + 2;
    for (size_t i = 0; i < p.box->lines.size(); ++i) {
      out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", middle, y, i == 0 ? " class=\"name\"" : "",
                         in_xml(p.box->lines[i]));
      y += line_height;
    }
    if (!p.phase.empty())
      out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"label\">{}</text>\n", middle, y - 2, in_xml(p.phase));
    return out;
  }

  const drawing& of_;
  std::map<std::string, size_t> known_;
  std::vector<place> places_;
  std::vector<route> routes_;
  std::vector<std::vector<size_t>> columns_;
  double width_ = 0, height_ = 0;
};

// A drawing with its title, and below it those inside of its nodes.
void add_panels(const drawing& of, double& width, double& bottom, std::string& out) {
  const layout placed(of);
  if (!of.label.empty()) {
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"title\">{}</text>\n", margin, bottom + margin,
                       in_xml(of.label));
    width = std::max(width, width_of(of.label, 9) + 2 * margin);
    bottom += margin;
  }
  out += placed.text(bottom + margin);
  bottom += margin + placed.height() + margin;
  width = std::max(width, placed.width());
  for (const drawing& inside : of.inside) add_panels(inside, width, bottom, out);
}

}  // namespace

std::string svg_text(const drawing& of) {
  double width = 2 * margin, bottom = 0;
  std::string panels;
  add_panels(of, width, bottom, panels);
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
             "{1:.0f}\">\n",
             width, bottom) +
         "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
         "orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\"/></marker></defs>\n"
         "<style>\n"
         "text { font: 12px Helvetica, Arial, sans-serif; text-anchor: middle; }\n"
         ".name { font-weight: bold; }\n"
         ".title { font-size: 15px; text-anchor: start; }\n"
         ".label { font-size: 9px; fill: #444444; }\n"
         "rect { stroke: #333333; }\n"
         ".stage { fill: #ffffff; } .end { fill: #add8e6; } .store { fill: #ffa07a; }\n"
         ".edge { fill: none; stroke: #555555; marker-end: url(#arrow); }\n"
         ".dashed { stroke-dasharray: 5 3; } .spills { stroke: #cc0000; }\n"
         "</style>\n<rect width=\"100%\" height=\"100%\" style=\"fill: #ffffff; stroke: none\"/>\n" +
         panels + "</svg>\n";
}

}  // namespace flowrun::plan
