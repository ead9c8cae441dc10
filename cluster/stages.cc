#include "cluster/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "engine/base/error.h"
#include "engine/plan/body_ports.h"
#include "operators/parts/order/sorting.h"

namespace flowrun::cluster {

namespace {

using plan::operator_division;

operator_division division_of(const plan::node& n) {
  if (n.elided) return operator_division::keys;
  const operator_division declared = n.declaration->division;
  if (declared != operator_division::by_role) return declared;
  return n.role() == plan::operator_role::stateless ? operator_division::pieces : operator_division::whole;
}

// The fewest that the check has asked for.
std::optional<size_t> terms_needed(const plan::node& x, size_t input) {
  std::optional<size_t> out;
  for (const plan::needed_key& k : x.facts.needs)
    if (k.input == input && (!out || k.num_terms < *out)) out = k.num_terms;
  return out;
}

// A sink whose pieces can't be parts of one output.
bool writes_whole(const plan::node& n) { return n.facts.partitions || n.facts.index; }

class finder {
 public:
  finder(const plan::graph& g, const std::vector<bool>& divides)
      : graph_(g), divides_(divides), home_(g.nodes.size(), -1), runs_home_(g.nodes.size(), -1) {}

  stages find() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto n = static_cast<int>(i);
      if (plan::is_body_stream(at(n)))
        home_[i] = add_closed();
      else if (!plan::is_internal(at(n)))
        place(n);
    }
    return in_order();
  }

 private:
  struct rows {
    int node = -1, port = 0;
    bool operator==(const rows&) const = default;
  };
  // The streams that a node reads: those that flow through it, and those that it takes in as a whole.
  struct streams {
    std::vector<rows> flowing, whole;
    std::vector<size_t> flowing_inputs;  // their numbers
  };

  const plan::node& at(int n) const { return graph_.nodes[static_cast<size_t>(n)]; }
  int home(const rows& r) { return found(home_[static_cast<size_t>(r.node)]); }
  stage& of(int s) { return all_[static_cast<size_t>(s)]; }

  // Stages become one: `merged_into_` leads to the one that is left.
  int found(int s) {
    while (merged_into_[static_cast<size_t>(s)] != s) s = merged_into_[static_cast<size_t>(s)];
    return s;
  }

  streams streams_of(int n) const {
    streams out;
    const plan::node& x = at(n);
    for (size_t i = 0; i < x.inputs.size(); ++i) {
      const auto [node, port] = origin_of(graph_, x.inputs[i].from_node, x.inputs[i].from_port);
      const bool whole = takes_all_rows(x, i);
      (whole ? out.whole : out.flowing).push_back({node, port});
      if (!whole) out.flowing_inputs.push_back(i);
    }
    for (const plan::scalar_row& s : x.scalars) {
      const plan::input_port& taken = at(s.taken_by).inputs[0];
      const auto [node, port] = origin_of(graph_, taken.from_node, taken.from_port);
      out.whole.push_back({node, port});
    }
    return out;
  }

  // A task of `s` may wait for one of `on`, directly or not.
  bool depends(int s, int on) {
    std::vector<int> waiting = {s};
    std::vector<bool> seen(all_.size(), false);
    while (!waiting.empty()) {
      const int x = waiting.back();
      waiting.pop_back();
      for (const stage_input& in : of(x).inputs) {
        const int from = stage_writing(in);
        if (from == on) return true;
        if (!seen[static_cast<size_t>(from)]) waiting.push_back(from);
        seen[static_cast<size_t>(from)] = true;
      }
    }
    return false;
  }
  int stage_writing(const stage_input& in) {
    return found((in.runs ? runs_home_ : home_)[static_cast<size_t>(in.node)]);
  }

  int add(bool divided) {
    all_.emplace_back().divided = divided;
    merged_into_.push_back(static_cast<int>(all_.size()) - 1);
    closed_.push_back(false);
    return merged_into_.back();
  }
  // Rows of control nodes, and from outside of a body, lie in as many files as it happens. No node joins the stage.
  int add_closed() {
    const int s = add(false);
    closed_.back() = true;
    return s;
  }
  bool is_closed(int s) const { return closed_[static_cast<size_t>(s)]; }
  bool is_given(int s) { return is_closed(s) && of(s).control < 0; }
  bool lies_in_pieces(const rows& r) { return is_closed(home(r)) || of(home(r)).divided; }

  // Where nodes can work on the pieces of a stream that lies in pieces.
  int open_home(const rows& r) {
    if (!is_closed(home(r))) return home(r);
    const int s = add(true);
    read(s, r, reading::piece);
    return s;
  }

  void read(int s, const rows& r, reading how, bool runs = false) {
    const stage_input in{r.node, r.port, runs, how};
    std::vector<stage_input>& inputs = of(s).inputs;
    if (std::find(inputs.begin(), inputs.end(), in) == inputs.end()) inputs.push_back(in);
  }

  // Whether a node in `s` can read these: none of them waits for `s`.
  bool can_read(int s, const std::vector<rows>& all) {
    return std::none_of(all.begin(), all.end(), [&](const rows& r) {
      const int from = home(r);
      return from != s && depends(from, s);
    });
  }

  bool unite(int a, int b) {
    if (a == b) return true;
    if (of(a).divided != of(b).divided || depends(a, b) || depends(b, a)) return false;
    if (of(a).divided && !(of(a).merges() && of(b).merges())) return false;  // pieces of two streams
    stage& to = of(a);
    stage& from = of(b);
    to.nodes.insert(to.nodes.end(), from.nodes.begin(), from.nodes.end());
    to.runs.insert(to.runs.end(), from.runs.begin(), from.runs.end());
    to.reasons.insert(to.reasons.end(), from.reasons.begin(), from.reasons.end());
    for (const stage_input& in : from.inputs)
      if (std::find(to.inputs.begin(), to.inputs.end(), in) == to.inputs.end()) to.inputs.push_back(in);
    keep_together(a, from.kept_together);
    merged_into_[static_cast<size_t>(b)] = a;
    return true;
  }

  void keep_together(int s, size_t num_terms) {
    size_t& kept = of(s).kept_together;
    if (num_terms > 0) kept = kept == 0 ? num_terms : std::min(kept, num_terms);
  }

  void put(int n, int s) {
    home_[static_cast<size_t>(n)] = s;
    of(s).nodes.push_back(n);
  }

  void place(int n) {
    const plan::node& x = at(n);
    const streams in = streams_of(n);
    if (x.declaration->role == plan::operator_role::control) return place_control(n, in);
    if (in.flowing.empty() && in.whole.empty()) return place_source(n);
    if (divides_[static_cast<size_t>(n)] && lies_in_pieces(in.flowing[0])) return place_two_steps(n, in.flowing[0]);
    switch (division_of(x)) {
      case operator_division::pieces:
        if (in.flowing.size() == 1 && !x.facts.names_row_number && !writes_whole(x)) return place_piece(n, in);
        break;
      case operator_division::keys:
        if (place_keys(n, in)) return;
        break;
      case operator_division::sorting:
        if (!x.facts.sorts_by.empty() || operators::partial_rows(graph_, x)) return place_sort(n, in);
        break;
      default: break;
    }
    place_whole(n, in);
  }

  void place_source(int n) {
    const int s = add(divides_[static_cast<size_t>(n)]);
    if (of(s).divided) of(s).source = n;
    put(n, s);
  }

  void place_control(int n, const streams& in) {
    const int s = add_closed();
    of(s).control = n;
    for (const rows& r : in.whole) read(s, r, reading::all);
    put(n, s);
  }

  // In one task, with those in front of it where they are in one task, too.
  void place_whole(int n, const streams& in) {
    std::vector<rows> all = in.flowing;
    all.insert(all.end(), in.whole.begin(), in.whole.end());
    int target = -1;
    bool gathers = false;
    for (const rows& r : all) {
      const int s = home(r);
      gathers = gathers || lies_in_pieces(r);
      if (lies_in_pieces(r) || !can_read(s, all)) continue;
      if (target < 0)
        target = s;
      else
        unite(target, s);
    }
    if (target < 0) target = add(false);
    for (const rows& r : all)
      if (home(r) != target) read(target, r, reading::all);
    if (gathers) of(target).reasons.push_back(fmt::format("'{}' ({})", at(n).id, at(n).declaration->name));
    put(n, target);
  }

  void place_piece(int n, const streams& in) {
    if (!lies_in_pieces(in.flowing[0])) return place_whole(n, in);
    int s = open_home(in.flowing[0]);
    const bool ready = std::none_of(in.whole.begin(), in.whole.end(), [&](const rows& r) { return home(r) == s; });
    if (!ready || !can_read(s, in.whole)) {
      s = add(true);
      read(s, in.flowing[0], reading::piece);
    }
    for (const rows& r : in.whole) read(s, r, reading::all);
    put(n, s);
  }

  // False: the keys are not known, or some rows are needed as a whole.
  bool place_keys(int n, const streams& in) {
    const plan::node& x = at(n);
    for (size_t i = 0; i < x.inputs.size(); ++i)
      if (takes_all_rows(x, i)) return false;
    size_t kept = 0;
    for (const size_t i : in.flowing_inputs) {
      const std::optional<size_t> needed = terms_needed(x, i);
      if (!needed) return false;
      kept = kept == 0 ? *needed : std::min(kept, *needed);
    }
    if (kept == 0 || x.facts.sort.limited) return false;
    if (std::none_of(in.flowing.begin(), in.flowing.end(), [&](const rows& r) { return lies_in_pieces(r); }))
      return false;
    std::vector<rows> all = in.flowing;
    all.insert(all.end(), in.whole.begin(), in.whole.end());
    int target = -1;
    for (const rows& r : in.flowing) {
      const int s = home(r);
      if (!of(s).merges() || !of(s).divided || !can_read(s, all)) continue;
      if (std::any_of(in.whole.begin(), in.whole.end(), [&](const rows& w) { return home(w) == s; })) continue;
      if (target < 0)
        target = s;
      else
        unite(target, s);
    }
    if (target < 0) target = add(true);
    for (const rows& r : in.flowing)
      if (home(r) != target) read(target, r, reading::merged);
    for (const rows& r : in.whole) read(target, r, reading::all);
    keep_together(target, kept);
    put(n, target);
    return true;
  }
  void place_sort(int n, const streams& in) {
    const plan::node& x = at(n);
    const int s = open_home(in.flowing[0]);
    runs_home_[static_cast<size_t>(n)] = s;
    of(s).runs.push_back(n);
    const bool limited = x.facts.sort.limited;
    const int target = add(!limited);
    if (limited) of(target).reasons.push_back(fmt::format("'{}' (sort with a limit)", x.id));
    read(target, {n, 0}, reading::merged, true);
    for (const rows& r : in.whole) read(target, r, reading::all);
    if (x.facts.sort.drops_equal) keep_together(target, terms_needed(x, 0).value_or(0));
    put(n, target);
  }

  // Each task reduces its rows, or takes the first of them, and a task makes the result of that: one for all nodes of
  // this stage that have such steps.
  void place_two_steps(int n, const rows& r) {
    const int s = open_home(r);
    const auto first_step = std::find_if(of(s).runs.begin(), of(s).runs.end(),
                                         [&](int other) { return divides_[static_cast<size_t>(other)]; });
    int target = first_step == of(s).runs.end() ? -1 : found(home_[static_cast<size_t>(*first_step)]);
    if (target < 0 || depends(s, target)) target = add(false);
    runs_home_[static_cast<size_t>(n)] = s;
    of(s).runs.push_back(n);
    read(target, {n, 0}, reading::all, true);
    put(n, target);
  }

  // Those that are left, each behind those that it reads from; among these by their first node.
  stages in_order() {
    std::vector<int> left;
    for (size_t s = 0; s < all_.size(); ++s)
      if (merged_into_[s] == static_cast<int>(s) && !is_given(static_cast<int>(s))) left.push_back(static_cast<int>(s));
    for (const int s : left) std::sort(of(s).nodes.begin(), of(s).nodes.end());
    std::vector<int> number(all_.size(), -1);
    stages out;
    while (out.all.size() < left.size()) {
      int next = -1;
      for (const int s : left) {
        if (number[static_cast<size_t>(s)] >= 0) continue;
        const std::vector<stage_input>& inputs = of(s).inputs;
        const bool ready = std::all_of(inputs.begin(), inputs.end(), [&](const stage_input& in) {
          const int from = stage_writing(in);
          return is_given(from) || number[static_cast<size_t>(from)] >= 0;
        });
        if (ready && (next < 0 || first_node(s) < first_node(next))) next = s;
      }
      FLOWRUN_CHECK(next >= 0);
      number[static_cast<size_t>(next)] = static_cast<int>(out.all.size());
      out.all.push_back(of(next));
    }
    const auto numbers = [&](const std::vector<int>& homes) {
      std::vector<int> by_node;
      for (const int s : homes) by_node.push_back(s < 0 ? -1 : number[static_cast<size_t>(found(s))]);
      return by_node;
    };
    out.of_node = numbers(home_);
    out.of_runs = numbers(runs_home_);
    for (const plan::node& n : graph_.nodes) {
      if (n.declaration != &plan::body_result() && n.declaration != &plan::body_count()) continue;
      const auto [node, port] = origin_of(graph_, n.inputs[0].from_node, n.inputs[0].from_port);
      out.results.push_back({node, port});
    }
    return out;
  }

  // It may do no more than make runs.
  int first_node(int s) { return of(s).nodes.empty() ? of(s).runs.front() : of(s).nodes.front(); }

  const plan::graph& graph_;
  const std::vector<bool>& divides_;
  std::vector<stage> all_;
  std::vector<int> merged_into_;
  std::vector<bool> closed_;
  std::vector<int> home_, runs_home_;
};

// What of a column the terms leave, as terms.
void add_rest(const record::column& c, const plan::order& terms, plan::order& out) {
  std::vector<bool> covered(c.type.num_bytes, false);
  bool any = false;
  for (const plan::order_term& t : terms) {
    if (t.column != c.name) continue;
    any = true;
    const size_t end = t.length == 0 ? covered.size() : size_t{t.from} + t.length;
    std::fill(covered.begin() + t.from, covered.begin() + static_cast<ptrdiff_t>(end), true);
  }
  if (!any) return out.push_back({c.name});
  for (uint32_t from = 0; from < covered.size();) {
    uint32_t end = from;
    while (end < covered.size() && !covered[end]) ++end;
    if (end > from) out.push_back({c.name, false, from, end - from});
    from = end + 1;
  }
}

}  // namespace

bool stage::merges() const {
  return std::any_of(inputs.begin(), inputs.end(), [](const stage_input& in) { return in.how == reading::merged; });
}

stages find_stages(const plan::graph& g, const std::vector<bool>& divides) { return finder(g, divides).find(); }

bool takes_all_rows(const plan::node& n, size_t input) {
  if (n.declaration->role == plan::operator_role::control) return true;
  const bool skips = division_of(n) == operator_division::keys && terms_needed(n, input) && !n.facts.seeks_in_file;
  return n.inputs[input].stored && !skips;
}

stream stream_of(const stage_input& in) { return {in.node, in.port, in.runs}; }

std::vector<stream> streams_written(const stages& all, size_t stage) {
  std::set<stream> out;
  const auto add = [&](const stream& s) {
    const std::vector<int>& homes = s.runs ? all.of_runs : all.of_node;
    if (homes[static_cast<size_t>(s.node)] == static_cast<int>(stage)) out.insert(s);
  };
  for (const cluster::stage& s : all.all)
    for (const stage_input& in : s.inputs) add(stream_of(in));
  for (const stream& s : all.results) add(s);
  return {out.begin(), out.end()};
}

std::pair<int, int> origin_of(const plan::graph& g, int node, int port) {
  const auto at = [&g](int n) -> const plan::node& { return g.nodes[static_cast<size_t>(n)]; };
  while (plan::is_internal(at(node)) && !plan::is_body_stream(at(node))) {
    const plan::input_port& in = at(node).inputs[0];
    node = in.from_node;
    port = in.from_port;
  }
  if (!plan::is_body_stream(at(node))) return {node, port};
  return {static_cast<int>(g.find(at(node).id) - g.nodes.data()), port};
}

plan::order order_of_runs(const plan::graph& g, int sort) {
  const plan::node& n = g.nodes[static_cast<size_t>(sort)];
  if (const auto rows = operators::partial_rows(g, n))
    return operators::order_of_partial_rows(*rows, n.settings.as<operators::sorting>());
  plan::order out = n.facts.sorts_by;
  // Combined rows are made where the runs are merged, of rows in the order of the input.
  if (n.facts.sort.indexed || (n.facts.sort.drops_equal && !n.facts.sort.unique)) return out;
  for (const record::column& c : g.input_of(n, 0).type.columns()) add_rest(c, n.facts.sorts_by, out);
  return out;
}

plan::order order_of(const plan::graph& g, const stage_input& in) {
  if (in.runs && in.how == reading::merged) return order_of_runs(g, in.node);
  return g.nodes[static_cast<size_t>(in.node)].outputs[static_cast<size_t>(in.port)].sorted_by;
}

plan::order range_of(const plan::graph& g, const stage_input& in, size_t kept_together) {
  plan::order by = order_of(g, in);
  if (kept_together > 0) by.resize(std::min(kept_together, by.size()));
  return by;
}

}  // namespace flowrun::cluster
