#include "runner/top_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>

#include "engine/base/counted.h"
#include "engine/base/units.h"
#include "engine/metrics/progress.h"
#include "runner/shown_text.h"
#include "runner/state_nodes.h"

namespace flowrun::runner {

namespace {

using exec::RunReport;
using lines = std::vector<std::string>;

constexpr double window_seconds = 3;

double elapsed_of(const RunReport& state) {
  return state.has_live() ? state.live().elapsed_seconds() : state.wall_seconds();
}

// How much `value`, of a state, grows in a second.
double speed(const recent_states& states, const std::function<double(const RunReport&)>& value) {
  const double seconds = states.seconds();
  const double from = states.before() == nullptr ? 0 : value(*states.before());
  return seconds > 0 ? std::max(0.0, value(states.now()) - from) / seconds : 0;
}

// Parts of the time by what a node did: busy, then blocked on io, memory, input, output. Several threads may be in one
// node at once.
using shares = std::array<double, 5>;

shares seconds_of(const RunReport::Node& n) {
  const auto& b = n.blocked_seconds();
  return {n.busy_seconds(), b.io(), b.memory(), b.input(), b.output()};
}

shares shares_of(const recent_states& states, const RunReport::Node& node) {
  shares out = seconds_of(node);
  const RunReport::Node* const old = states.before() == nullptr ? nullptr : node_of(*states.before(), node.id());
  double all = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    if (old != nullptr) out[i] = std::max(0.0, out[i] - seconds_of(*old)[i]);
    all += out[i];
  }
  all = std::max(all, states.seconds());
  for (double& part : out) part = all > 0 ? part / all : 0;
  return out;
}

std::string percent(double share) { return fmt::format("{:.0f}%", 100 * std::min(1.0, share)); }

std::string bytes_per_second(double value) { return format_bytes(static_cast<uint64_t>(std::min(value, 1e18))) + "/s"; }

std::string latency_text(double seconds) {
  return seconds < 0.01 ? fmt::format("{:.2f} ms", seconds * 1e3) : format_duration(seconds);
}

// --- texts in columns ---

struct cell {
  std::string text;
  bool to_the_right = false;
};

std::string padded(const cell& c, size_t width) {
  const std::string text = cut_to(c.text, width);
  const std::string blanks(width - columns_of(text), ' ');
  return c.to_the_right ? blanks + text : text + blanks;
}

struct column {
  std::string head;
  bool to_the_right;
  int rank;  // where there is too little room, those of the highest rank go first
};

// A table whose first column, a name, takes what the others leave, but not less than `least` columns if there are so
// many.
class table {
 public:
  explicit table(std::vector<column> columns) : columns_(std::move(columns)) {}
  void add(lines texts, std::string code = {}) {
    rows_.push_back(std::move(texts));
    codes_.push_back(std::move(code));
  }
  lines drawn(const screen_style& style) const {
    constexpr size_t least = 8;
    std::vector<size_t> widths;
    for (size_t i = 0; i < columns_.size(); ++i) {
      size_t most = columns_of(columns_[i].head);
      for (const lines& row : rows_) most = std::max(most, columns_of(row[i]));
      widths.push_back(most);
    }
    std::vector<bool> taken(columns_.size(), true);
    const auto others = [&] {
      size_t out = 0;
      for (size_t i = 1; i < columns_.size(); ++i) out += taken[i] ? widths[i] + 2 : 0;
      return out;
    };
    if (style.width > 0) {
      while (others() > 0 && others() + std::min(least, widths[0]) > style.width) {
        size_t worst = 0;
        for (size_t i = 1; i < columns_.size(); ++i)
          if (taken[i] && (worst == 0 || columns_[i].rank >= columns_[worst].rank)) worst = i;
        taken[worst] = false;
      }
      widths[0] = std::min(widths[0], style.width - others());
    }
    const auto row_of = [&](const std::function<std::string(size_t)>& text) {
      std::string out = padded({text(0), false}, widths[0]);
      for (size_t i = 1; i < columns_.size(); ++i)
        if (taken[i]) out += "  " + padded({text(i), columns_[i].to_the_right}, widths[i]);
      return out.substr(0, out.find_last_not_of(' ') + 1);
    };
    lines out = {row_of([&](size_t i) { return columns_[i].head; })};
    if (style.colors) out[0] = fmt::format("\033[7m{}\033[0m", out[0]);
    for (size_t r = 0; r < rows_.size(); ++r) {
      std::string row = row_of([&](size_t i) { return rows_[r][i]; });
      if (style.colors && !codes_[r].empty()) row = fmt::format("\033[{}m{}\033[0m", codes_[r], row);
      out.push_back(std::move(row));
    }
    return out;
  }

 private:
  std::vector<column> columns_;
  std::vector<lines> rows_;
  std::vector<std::string> codes_;
};

// Where a line that is too wide ends: at its last blank, if possible not between a figure and its unit. 0: nowhere.
size_t last_break(std::string_view line) {
  for (size_t blank = line.rfind(' '); blank != std::string_view::npos && blank > 0; blank = line.rfind(' ', blank - 1))
    if (line[blank - 1] < '0' || line[blank - 1] > '9') return blank;
  const size_t blank = line.rfind(' ');
  return blank == std::string_view::npos ? 0 : blank;
}

// Text broken between words where it is too wide.
lines broken(const std::string& text, const screen_style& style) {
  if (style.width == 0 || text.empty()) return {text};
  lines out;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string line = cut_to(rest, style.width);
    if (line.empty()) break;
    if (line.size() < rest.size())
      // What follows looks like the rest of a line: a whole word may end right at the edge.
      if (const size_t end = last_break(rest[line.size()] == ' ' ? line + ' ' : line); end > 0) line.resize(end);
    rest.remove_prefix(line.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    out.push_back(std::move(line));
  }
  return out;
}

// Parts one behind the other, as many in a line as fit. A part is broken where it is too wide, since half a figure is a
// wrong one.
lines flowing(const lines& parts, const screen_style& style) {
  lines out;
  for (const std::string& part : parts) {
    lines own = broken(part, style);
    if (own.empty()) continue;
    if (!out.empty() && own.size() == 1 &&
        (style.width == 0 || columns_of(out.back()) + 3 + columns_of(own[0]) <= style.width))
      out.back() += "   " + own[0];
    else
      out.insert(out.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
  }
  return out;
}

// --- what is shown ---

// Stages of tasks are the phases of a job on a cluster.
bool is_on_cluster(const RunReport& state) { return state.stages_size() > 0; }

std::string memory_text(const RunReport& now) {
  std::string out = "memory ";
  if (!now.has_live())
    out += fmt::format("at most {}{}", format_bytes(now.peak_memory_bytes()), is_on_cluster(now) ? " a task" : "");
  else
    out += now.live().has_resident_bytes() ? format_bytes(now.live().resident_bytes()) : "not known";
  if (now.has_memory_budget_bytes()) out += fmt::format(", budget {}", format_bytes(now.memory_budget_bytes()));
  return out;
}

lines head_of(const recent_states& states, const screen_style& style) {
  const RunReport& now = states.now();
  const auto text = [&](const std::string& t) { return shown_text(t, style.unicode); };
  lines parts = {(now.job().empty() ? "job" : text(now.job())) + " " + text(now.status())};
  parts.push_back(format_duration(elapsed_of(now)));
  if (now.has_live()) {
    const RunReport::Live& live = now.live();
    if (live.has_ratio())
      parts.push_back(fmt::format("{}{:.0f} %", live.ratio_known() ? "" : "~", std::floor(100 * live.ratio())));
    std::string phase =
        fmt::format("{} {} of {}", is_on_cluster(now) ? "stage" : "phase", live.phase(), now.phases_size());
    if (!live.activity().empty()) phase += ": " + text(live.activity());
    parts.push_back(phase);
    if (live.has_seconds_left()) parts.push_back(format_whole_seconds(live.seconds_left()) + " left");
  }
  lines out = flowing(parts, style);
  const auto rows = [](const RunReport& r) {
    double sum = 0;
    for (const auto& n : r.nodes())
      if (n.role() == "source") sum += static_cast<double>(n.rows());
    return sum;
  };
  const double cores = speed(states, [](const RunReport& r) { return r.cpu_seconds(); });
  const auto files = [&](const char* name, auto total) {
    return fmt::format(
        "{} {}, {}", name, format_bytes(total(now)),
        bytes_per_second(speed(states, [&](const RunReport& r) { return static_cast<double>(total(r)); })));
  };
  std::string processor = fmt::format("processor {:.1f}", cores);
  if (now.has_threads()) processor += fmt::format(" of {}", now.threads());
  const lines more = flowing({metrics::format_rate(speed(states, rows)) + " rows/s read", processor, memory_text(now),
                              files("files read", [](const RunReport& r) { return r.actual().input_bytes(); }),
                              files("written", [](const RunReport& r) { return r.actual().output_bytes(); })},
                             style);
  out.insert(out.end(), more.begin(), more.end());
  if (style.colors && !out.empty()) out[0] = "\033[1m" + out[0] + "\033[0m";
  return out;
}

// At most `most` of the nodes, those that do most, in the order of the job.
lines nodes_of(const recent_states& states, const screen_style& style, size_t most) {
  const RunReport& now = states.now();
  std::vector<int> order(static_cast<size_t>(now.nodes_size()));
  std::vector<shares> parts;
  for (int i = 0; i < now.nodes_size(); ++i) {
    order[static_cast<size_t>(i)] = i;
    parts.push_back(shares_of(states, now.nodes(i)));
  }
  const bool all = order.size() <= most;
  if (!all) {
    const auto weight = [&](int i) {
      const bool runs = phase_state_of(now, now.nodes(i)) == RunReport::Phase::running;
      return std::pair(runs, parts[static_cast<size_t>(i)][0]);
    };
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return weight(a) > weight(b); });
    order.resize(most > 0 ? most - 1 : 0);  // a line says how many there are more
    std::sort(order.begin(), order.end());
  }
  table out({{"node", false, 0},
             {"op", false, 9},
             {"rows", true, 3},
             {"rows/s", true, 1},
             {"busy", true, 2},
             {"io", true, 6},
             {"memory", true, 7},
             {"input", true, 4},
             {"output", true, 5}});
  for (const int index : order) {
    const RunReport::Node& n = now.nodes(index);
    const shares& part = parts[static_cast<size_t>(index)];
    const RunReport::Phase::State state = phase_state_of(now, n);
    std::string op = n.op();
    if (n.op() == "loop") op += ", " + counted(n.iterations(), "iteration");
    lines row = {shown_text(n.id(), style.unicode), ""};
    if (!n.fused_with().empty()) {
      op += " in " + n.fused_with();
      row.resize(9);
    } else {
      const std::string id = n.id();
      const auto rows = [&id](const RunReport& r) {
        const RunReport::Node* const found = node_of(r, id);
        return found == nullptr ? 0.0 : static_cast<double>(found->rows());
      };
      row.push_back(format_count(n.rows()));
      row.push_back(metrics::format_rate(speed(states, rows)));
      for (const double share : part) row.push_back(percent(share));
    }
    row[1] = shown_text(op, style.unicode);
    const bool dim = now.has_live() && state != RunReport::Phase::running;
    out.add(std::move(row), dim ? "2" : part[0] > 0.5 && now.has_live() ? "32" : "");
  }
  lines drawn = out.drawn(style);
  if (!all) {
    const std::string more = fmt::format("({} more nodes)", static_cast<size_t>(now.nodes_size()) - order.size());
    drawn.push_back(style.width > 0 ? cut_to(more, style.width) : more);
  }
  return drawn;
}

lines disks_of(const recent_states& states, const screen_style& style) {
  const RunReport& now = states.now();
  if (now.disks_size() == 0) return {};
  table out({{"disk", false, 0},
             {"read", true, 2},
             {"written", true, 1},
             {"latency", true, 5},
             {"queue", true, 6},
             {"busy", true, 3},
             {"used", true, 4}});
  for (int i = 0; i < now.disks_size(); ++i) {
    const RunReport::Disk& d = now.disks(i);
    const auto of = [&](const std::function<double(const RunReport::Disk&)>& value) {
      return speed(states, [&](const RunReport& r) { return i < r.disks_size() ? value(r.disks(i)) : 0.0; });
    };
    const double operations =
        of([](const auto& x) { return static_cast<double>(x.read_operations() + x.write_operations()); });
    const double service = of([](const auto& x) { return x.read_service_seconds() + x.write_service_seconds(); });
    const uint64_t used = now.has_live() ? d.used_bytes() : d.peak_used_bytes();
    out.add({shown_text(d.path(), style.unicode),
             bytes_per_second(of([](const auto& x) { return static_cast<double>(x.read_bytes()); })),
             bytes_per_second(of([](const auto& x) { return static_cast<double>(x.written_bytes()); })),
             operations > 0 ? latency_text(service / operations) : "-", fmt::format("{:.1f}", service),
             percent(of([](const auto& x) { return x.busy_seconds(); })),
             format_bytes(used) + (d.limit_bytes() > 0 ? " of " + format_bytes(d.limit_bytes()) : "")});
  }
  return out.drawn(style);
}

// How the tasks of stages go, the newest ones where there is little room.
lines stages_of(const RunReport& now, const screen_style& style, size_t most) {
  if (!is_on_cluster(now)) return {};
  table out({{"nodes", false, 0},
             {"stage", true, 9},
             {"tasks", true, 2},
             {"done", true, 1},
             {"at work", true, 3},
             {"waiting", true, 5},
             {"attempts", true, 6},
             {"median", true, 7},
             {"slowest", true, 4}});
  const int begin = std::max(0, now.stages_size() - static_cast<int>(most));
  for (int i = begin; i < now.stages_size(); ++i) {
    const RunReport::Stage& s = now.stages(i);
    const bool runs = s.has_tasks_done();
    const uint32_t done = runs ? s.tasks_done() : s.tasks();
    const auto when_it_runs = [&](uint32_t n) { return now.has_live() && runs ? format_count(n) : std::string(); };
    const auto seconds = [&](double value) { return value > 0 ? format_duration(value) : std::string(); };
    out.add({shown_text(fmt::format("{}", fmt::join(s.nodes(), ", ")), style.unicode), std::to_string(s.phase()),
             format_count(s.tasks()), format_count(done), when_it_runs(s.tasks_at_work()),
             when_it_runs(s.tasks() - done - s.tasks_at_work()), format_count(s.attempts()),
             seconds(s.median_seconds()), seconds(s.slowest_seconds())},
            now.has_live() && !runs ? "2" : "");
  }
  return out.drawn(style);
}

// Of the phase that runs, or of the one that had most: who has what of the budget.
lines memory_of(const RunReport& now, const screen_style& style) {
  const auto given = [&](int phase) {
    const RunReport::Phase& p = now.phases(phase);
    return p.memory_bytes() + p.batches_bytes() + p.held_bytes();
  };
  int index = static_cast<int>(now.live().phase()) - 1;
  if (index < 0 || index >= now.phases_size()) {
    index = 0;
    for (int i = 1; i < now.phases_size(); ++i)
      if (given(i) > given(index)) index = i;
  }
  if (index >= now.phases_size() || !now.phases(index).has_memory_bytes()) return {};
  const RunReport::Phase& phase = now.phases(index);
  std::vector<std::pair<uint64_t, std::string>> owners;
  uint64_t of_nodes = 0;
  for (const auto& m : now.memory()) {
    if (m.phase() != static_cast<uint32_t>(index + 1) || m.given_bytes() == 0) continue;
    owners.emplace_back(m.given_bytes(),
                        shown_text(m.node(), style.unicode) + (m.part() == "whole" ? "" : " (" + shown_text(m.part(), style.unicode) + ")"));
    of_nodes += m.given_bytes();
  }
  if (phase.memory_bytes() > of_nodes) owners.emplace_back(phase.memory_bytes() - of_nodes, "queues");
  if (phase.batches_bytes() > 0) owners.emplace_back(phase.batches_bytes(), "batches on the way");
  if (phase.held_bytes() > 0) owners.emplace_back(phase.held_bytes(), "kept from earlier phases");
  std::stable_sort(owners.begin(), owners.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  uint64_t all = 0;
  lines parts;
  for (const auto& [num_bytes, owner] : owners) {
    parts.push_back(owner + " " + format_bytes(num_bytes));
    all += num_bytes;
  }
  if (now.memory_budget_bytes() > all) parts.push_back("not given " + format_bytes(now.memory_budget_bytes() - all));
  parts.insert(parts.begin(),
               fmt::format("memory of phase {}, budget {}:", index + 1, format_bytes(now.memory_budget_bytes())));
  return flowing(parts, style);
}

}  // namespace

void recent_states::add(RunReport state) {
  if (!state.has_live()) {
    states_.clear();
    states_.push_back(std::move(state));
    return;
  }
  // The server gives the same state again where the job had no time to make another.
  if (!states_.empty() && elapsed_of(states_.back()) == elapsed_of(state)) return;
  states_.push_back(std::move(state));
  while (states_.size() > 2 && elapsed_of(states_.back()) - elapsed_of(states_[1]) >= window_seconds)
    states_.pop_front();
}

double recent_states::seconds() const { return elapsed_of(now()) - (before() == nullptr ? 0 : elapsed_of(*before())); }

lines top_screen(const recent_states& states, const std::string& notice, const screen_style& style) {
  const RunReport& now = states.now();
  lines out = head_of(states, style);
  // What is wrong is said behind the first line, so that every screen has it.
  lines said;
  const auto say = [&](const std::string& text, const char* code) {
    for (const std::string& line : broken(shown_text(text, style.unicode), style))
      said.push_back(style.colors && *code != 0 ? fmt::format("\033[{}m{}\033[0m", code, line) : line);
  };
  if (!notice.empty()) say(notice, "1;33");
  if (!now.error().empty()) say("error: " + now.error(), "1;31");
  if (!now.has_live() && !now.verdict().empty()) say("bound by " + now.verdict(), "");
  out.insert(out.begin() + 1, said.begin(), said.end());
  lines below;
  const auto add_below = [&below](const lines& part) {
    if (part.empty()) return;
    below.emplace_back();
    below.insert(below.end(), part.begin(), part.end());
  };
  constexpr size_t most_stages = 6;
  add_below(stages_of(now, style, style.height > 0 ? most_stages : static_cast<size_t>(now.stages_size())));
  add_below(disks_of(states, style));
  add_below(memory_of(now, style));
  // On a low screen the head has less than half of it, and nodes take what disks and memory leave, but half of what is
  // below the head at least.
  constexpr size_t least_head = 2, least_nodes = 3;
  if (style.height > 0) out.resize(std::min(out.size(), std::max(least_head, style.height * 2 / 5)));
  const size_t around = out.size() + 2;  // an empty line, and the head of the table
  const size_t room = style.height > around ? style.height - around : 0;
  const size_t beside = room > below.size() ? room - below.size() : 0;
  const size_t most =
      style.height == 0 ? static_cast<size_t>(now.nodes_size()) : std::max({least_nodes, room / 2, beside});
  out.emplace_back();
  const lines nodes = nodes_of(states, style, most);
  out.insert(out.end(), nodes.begin(), nodes.end());
  out.insert(out.end(), below.begin(), below.end());
  if (style.height > 0 && out.size() > style.height) out.resize(style.height);
  return out;
}

}  // namespace flowrun::runner
