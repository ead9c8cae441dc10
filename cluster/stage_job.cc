#include "cluster/stage_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cluster/spec_values.h"
#include "engine/base/error.h"
#include "operators/parts/order/reduction.h"
#include "operators/parts/order/row_limit.h"
#include "operators/parts/order/sorting.h"
#include "specs/value.h"

namespace flowrun::cluster {

namespace {

specs::Input input_from(const std::string& node, const std::string& port = {}) {
  specs::Input out;
  out.set_from_node(node);
  out.set_from_port(port);
  return out;
}

class writer {
 public:
  writer(const plan::graph& g, const stages& all, size_t stage, const task& t)
      : graph_(g), all_(all), number_(static_cast<int>(stage)), stage_(all.all[stage]), task_(t) {
    for (const plan::node& n : g.nodes) taken_.insert(n.id);
  }

  specs::JobSpec write() {
    out_ = *graph_.job;
    out_.clear_nodes();
    out_.clear_tests();
    out_.clear_resources();
    for (size_t i = 0; i < stage_.inputs.size(); ++i) read(stage_.inputs[i], task_.inputs[i]);
    for (const auto& [sort, runs] : sorts_again_) add_sort_again(sort, runs);
    for (const auto& [reduce, parts] : totals_) add_total(reduce, parts);
    for (const int n : stage_.nodes) add(n);
    for (const int n : stage_.runs) add_runs(n);
    const std::vector<stream> written = streams_written(all_, static_cast<size_t>(number_));
    for (size_t i = 0; i < written.size(); ++i) write(written[i], task_.written[i]);
    return std::move(out_);
  }

 private:
  const plan::node& at(int n) const { return graph_.nodes[static_cast<size_t>(n)]; }

  // A name that no node has.
  std::string free_name(std::string name) {
    while (!taken_.insert(name).second) name += "_";
    return name;
  }

  specs::Node& add_node(const std::string& id, const std::string& op) {
    specs::Node& n = *out_.add_nodes();
    n.set_id(id);
    n.set_op(op);
    return n;
  }

  specs::Node& add_reading(const std::string& id, const stage_input& in, const specs::Value& path,
                           const plan::order& sorted_by) {
    specs::Node& n = add_node(id, "exchange.read");
    set_parameter(n, "path", path);
    set_parameter(n, "type", type_value(type_of(graph_, stream_of(in))));
    if (!sorted_by.empty()) set_parameter(n, "sorted_by", list_value(texts_of(sorted_by)));
    return n;
  }
  // Its rows have the name of the node that gave them, which bodies of loops may know it by.
  void read(const stage_input& in, const task_input& files) {
    const plan::node& from = at(in.node);
    std::string id = from.id;
    const bool is_sort_again = in.runs && (from.facts.sort.drops_equal || from.facts.sort.limited);
    const bool is_total = in.runs && in.how != reading::merged;
    if (in.port > 0)
      id = free_name(fmt::format("{}_{}", id, from.outputs[static_cast<size_t>(in.port)].name));
    else if (is_sort_again)
      id = free_name(id + "_runs");
    else if (is_total)
      id = free_name(id + "_parts");
    if (!ids_.insert(id).second) ids_.insert(id = free_name(id));  // a piece of it, and all of it
    names_[{stream_of(in), in.how == reading::all}] = id;
    const plan::order sorted_by = order_of(graph_, in);
    if (in.how != reading::merged) {
      add_reading(id, in, list_value(files.paths), sorted_by);
      if (is_total) totals_.emplace_back(in.node, id);
      return;
    }
    std::vector<size_t> runs;
    for (size_t r = 0; r < files.paths.size(); ++r)
      if (files.ranges[r].first < files.ranges[r].second || (runs.empty() && r + 1 == files.paths.size()))
        runs.push_back(r);
    std::vector<std::string> ids;
    for (const size_t r : runs) {
      ids.push_back(runs.size() == 1 ? id : free_name(fmt::format("{}_run{}", id, r)));
      specs::Node& n = add_reading(ids.back(), in, text_value(files.paths[r]), sorted_by);
      set_parameter(n, "range", text_value(fmt::format("{}:{}", files.ranges[r].first, files.ranges[r].second)));
    }
    if (runs.size() > 1) {
      specs::Node& merge = add_node(id, "merge");
      merge.set_input_form(specs::INPUT_LIST);
      for (const std::string& run : ids) *merge.add_inputs() = input_from(run);
      set_parameter(merge, "by", list_value(texts_of(sorted_by)));
    }
    if (is_sort_again) sorts_again_.emplace_back(in.node, id);
  }

  // A sort of the merged runs, which are sorted by its keys already, does what else it has to do.
  void add_sort_again(int n, const std::string& runs) {
    specs::Node& sort = *out_.add_nodes();
    sort = *at(n).spec;
    *sort.mutable_inputs(0) = input_from(runs);
    if (operators::partial_rows(graph_, at(n))) {
      sort.set_op("exchange.combined");
      set_parameter(sort, "type", type_value(graph_.input_of(at(n), 0).type));
    }
    name_scalars(sort);
    for (specs::Input& in : *sort.mutable_scalars()) connect(in, true);
  }

  // Expressions know them by these names.
  static void name_scalars(specs::Node& node) {
    if (node.scalars_form() == specs::INPUT_NAMED || node.scalars().empty()) return;
    node.set_scalars_form(specs::INPUT_NAMED);
    for (specs::Input& in : *node.mutable_scalars()) in.set_port(in.from_node());
  }

  void add(int n) {
    const plan::node& x = at(n);
    if (all_.of_runs[static_cast<size_t>(n)] >= 0) return;  // its first step is done: read() has added the second
    specs::Node& copy = *out_.add_nodes();
    copy = *x.spec;
    // A body knows its inputs by the names of the nodes, where they have no others.
    if (x.declaration->inputs_by_name && copy.input_form() != specs::INPUT_NAMED && !copy.inputs().empty()) {
      copy.set_input_form(specs::INPUT_NAMED);
      for (specs::Input& in : *copy.mutable_inputs()) in.set_port(in.from_node());
    }
    name_scalars(copy);
    // What comes from exchange files would have to be stored anew before any of it could be skipped.
    for (size_t i = 0; i < x.inputs.size(); ++i)
      if (x.inputs[i].stored && !takes_all_rows(x, i)) remove_parameter(copy, "skip");
    for (int i = 0; i < copy.inputs_size(); ++i) connect(*copy.mutable_inputs(i), takes_all(x, i));
    for (specs::Input& in : *copy.mutable_scalars()) connect(in, true);
    if (stage_.source == n && task_.piece != nullptr) narrow(copy, *task_.piece);
    if (x.declaration->role != plan::operator_role::sink) return;
    set_parameter(copy, "path", text_value(task_.output_path(x)));
    if (const plan::order sorted = order_of_output(graph_, x); !sorted.empty()) tell_ends(copy, sorted);
  }

  void tell_ends(specs::Node& sink, const plan::order& sorted) {
    const specs::Input rows = sink.inputs(0);
    const std::string id = free_name(sink.id() + "_ends");
    sink.mutable_inputs(0)->set_from_node(id);
    sink.mutable_inputs(0)->clear_from_port();
    specs::Node& ends = add_node(id, "exchange.ends");
    ends.set_input_form(specs::INPUT_SINGLE);
    *ends.add_inputs() = input_from(rows.from_node(), rows.from_port());
    set_parameter(ends, "sorted", list_value(texts_of(sorted)));
    set_parameter(ends, "sink", text_value(sink.id()));
  }

  // Of an input as the user has written it: whether the node has to have all of its rows.
  static bool takes_all(const plan::node& n, int written_input) {
    for (size_t i = 0; i < n.inputs.size(); ++i)
      if (n.inputs[i].spec == &n.spec->inputs(written_input)) return takes_all_rows(n, i);
    return false;
  }

  // From the node that reads the stream here, where it comes from another stage.
  void connect(specs::Input& in, bool takes_all) {
    const auto found = std::find_if(graph_.nodes.begin(), graph_.nodes.end(),
                                    [&](const plan::node& n) { return n.id == in.from_node(); });
    FLOWRUN_CHECK(found != graph_.nodes.end());
    const int n = static_cast<int>(found - graph_.nodes.begin());
    int port = 0;
    for (size_t p = 0; p < found->outputs.size(); ++p)
      if (found->outputs[p].name == in.from_port()) port = static_cast<int>(p);
    // What merges runs has the sort's name.
    if (all_.of_node[static_cast<size_t>(n)] == number_) return;
    const auto named = names_.find({{n, port, false}, takes_all});
    in.set_from_node(named != names_.end() ? named->second : names_.at({{n, port, false}, !takes_all}));
    in.clear_from_port();
  }

  // The second step of a reduce, or a limit.
  void add_total(int n, const std::string& parts) {
    specs::Node& total = *out_.add_nodes();
    total = *at(n).spec;
    *total.mutable_inputs(0) = input_from(parts);
    if (operators::rows_that_matter(at(n))) return;
    total.set_op("exchange.total");
    set_parameter(total, "type", type_value(graph_.input_of(at(n), 0).type));
  }

  void add_parts(int n) {
    specs::Node& parts = *out_.add_nodes();
    parts = *at(n).spec;
    connect(*parts.mutable_inputs(0), false);
    if (const std::optional<uint64_t> most = operators::rows_that_matter(at(n))) {
      set_parameter(parts, "count", text_value(std::to_string(*most)));
      remove_parameter(parts, "skip");
    } else {
      parts.set_op("exchange.reduce");
    }
  }

  void add_runs(int n) {
    const plan::node& x = at(n);
    const bool combines_parts = operators::partial_rows(graph_, x).has_value();
    if (x.facts.sorts_by.empty() && !combines_parts) return add_parts(n);
    const plan::sort_facts& facts = x.facts.sort;
    const bool combines = facts.drops_equal && !facts.unique;
    specs::Node sort = *x.spec;
    connect(*sort.mutable_inputs(0), false);
    sort.clear_scalars();
    sort.clear_scalars_form();
    if (combines_parts) {
      sort.set_op("exchange.combine");
      for (const char* name : {"runs", "compress"}) remove_parameter(sort, name);
      *out_.add_nodes() = std::move(sort);
      return;
    }
    set_parameter(sort, "by", list_value(texts_of(x.facts.sorts_by)));
    if (combines) {
      // The rows themselves are sorted, and in the order of the input where their keys are equal.
      for (const char* name : {"combine", "limit", "runs", "compress"}) remove_parameter(sort, name);
      set_parameter(sort, "stable", text_value("true"));
    }
    *out_.add_nodes() = std::move(sort);
  }

  void write(const stream& s, const std::string& path) {
    const plan::node& from = at(s.node);
    specs::Node& n = add_node(free_name(from.id + "_written"), "exchange.write");
    n.set_input_form(specs::INPUT_SINGLE);
    *n.add_inputs() = input_from(from.id, s.port == 0 ? "" : from.outputs[static_cast<size_t>(s.port)].name);
    set_parameter(n, "path", text_value(path));
  }

  const plan::graph& graph_;
  const stages& all_;
  const int number_;
  const stage& stage_;
  const task& task_;
  specs::JobSpec out_;
  std::set<std::string> taken_;
  std::vector<std::pair<int, std::string>> sorts_again_;  // and what reads their runs
  std::vector<std::pair<int, std::string>> totals_;       // reduces and limits, and what reads their parts
  std::map<std::pair<stream, bool>, std::string> names_;  // of the nodes that read them; true: all of their rows
  std::set<std::string> ids_;                             // the same names
};

}  // namespace

record::row_type type_of(const plan::graph& g, const stream& s) {
  const plan::node& n = g.nodes[static_cast<size_t>(s.node)];
  if (!s.runs) return n.outputs[static_cast<size_t>(s.port)].type;
  if (operators::rows_that_matter(n)) return g.input_of(n, 0).type;
  if (const auto rows = operators::partial_rows(g, n)) return rows->type;
  return n.facts.sorts_by.empty() ? operators::partial_type(n.settings.as<operators::reduction>())
                                  : g.input_of(n, 0).type;
}

std::vector<std::string> texts_of(const plan::order& o) {
  std::vector<std::string> out;
  for (const plan::order_term& term : o) out.push_back(plan::to_string(plan::order{term}));
  return out;
}

plan::order order_of_output(const plan::graph& g, const plan::node& sink) {
  if (sink.inputs.size() != 1) return {};
  std::set<std::string> unseen;  // in the rows that are written
  for (const plan::told_missing& missing : sink.facts.missing) {
    unseen.insert(missing.column);
    unseen.insert(missing.told_by);
  }
  plan::order out = g.input_of(sink, 0).sorted_by;
  out.erase(std::find_if(out.begin(), out.end(), [&](const auto& term) { return unseen.contains(term.column); }),
            out.end());
  return out;
}

specs::JobSpec job_of_task(const plan::graph& g, const stages& all, size_t stage, const task& t) {
  return writer(g, all, stage, t).write();
}

}  // namespace flowrun::cluster
