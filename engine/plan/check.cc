// Job spec to checked graph: one walk in topological order. A node is checked once all it reads is known; behind a
// faulty node everything is silent, so that each report is a cause and not a consequence.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/plan/connections.h"
#include "engine/plan/node_checker.h"
#include "engine/plan/output_rules.h"
#include "engine/plan/parameter_shape.h"
#include "specs/value.h"

namespace flowrun::plan {

namespace {

using file_bytes_function = std::function<int64_t(const std::string&)>;

class graph_checker {
 public:
  graph_checker(graph& g, std::vector<fault>& faults, const operator_catalog& catalog,
                const file_bytes_function& file_bytes)
      : graph_(g), faults_(faults), catalog_(catalog), file_bytes_(file_bytes), connections_(g, good_, faults) {}

  void run() {
    read_types();
    const specs::JobSpec& job = *graph_.job;
    const std::vector<int> sequence = topological_order(job);
    if (sequence.size() < static_cast<size_t>(job.nodes_size())) report_circle(sequence);
    graph_.nodes.resize(sequence.size());  // at once: checkers and connections hold references
    good_.assign(sequence.size(), false);
    for (size_t i = 0; i < sequence.size(); ++i) {
      graph_.nodes[i].spec = &job.nodes(sequence[i]);
      graph_.nodes[i].id = graph_.nodes[i].spec->id();
    }
    for (size_t i = 0; i < sequence.size(); ++i) good_[i] = check_node(static_cast<int>(i));
    check_outputs_used(graph_, good_, connections_, faults_);
    check_files(graph_, files_, faults_);
  }

 private:
  void fail(const specs::Position& where, std::string message, std::string expected = {}, std::string hint = {}) {
    faults_.push_back(
        {specs::where(graph_.job->file(), where), std::move(message), std::move(expected), std::move(hint)});
  }

  void read_types() {
    for (const specs::TypeDecl& type : graph_.job->types()) {
      std::vector<record::column> columns;
      for (const specs::Column& c : type.columns()) {
        if (const auto parsed = record::parse_value_type(c.type()))
          columns.push_back({c.name(), *parsed});
        else
          fail(c.type_position(), fmt::format("unknown type '{}'", c.type()), std::string(record::value_type_names()));
        if (expr::is_reserved_word(c.name()))
          fail(c.position(), fmt::format("'{}' can't name a column: expressions use the word", c.name()),
               "another name");
      }
      graph_.types.emplace(type.name(), record::row_type(std::move(columns)));
    }
  }

  // The reader reports circles with their path; this is for specs that came another way.
  void report_circle(const std::vector<int>& sequence) {
    for (int i = 0; i < graph_.job->nodes_size(); ++i)
      if (std::find(sequence.begin(), sequence.end(), i) == sequence.end()) {
        const specs::Node& n = graph_.job->nodes(i);
        return fail(n.in_position(), fmt::format("'{}' is on a circle of nodes, or behind one", n.id()),
                    "nodes that only read from nodes before them");
      }
  }

  bool find_operator(node& n) {
    const std::string& name = n.spec->op();
    n.declaration = catalog_.find(name);
    if (!n.declaration && !name.empty()) {
      const std::vector<std::string> names = catalog_.names();
      fail(n.spec->op_position(), fmt::format("unknown operator '{}'", name),
           fmt::format("one of {}", fmt::join(names, ", ")), did_you_mean(name, names));
    }
    return n.declaration != nullptr;
  }

  bool check_node(int index) {
    node& n = graph_.nodes[static_cast<size_t>(index)];
    const size_t faults_before = faults_.size();
    bool good = find_operator(n);
    if (good) {
      if (!n.declaration->outputs_from_parameters)
        for (const port_declaration& port : n.declaration->outputs) n.outputs.emplace_back().name = port.name;
      good = check_parameters(*n.spec, *n.declaration, graph_.types, graph_.job->file(), faults_);
      if (good) add_files(n, index);
      if (n.spec->has_on_error() && !n.declaration->has_error_port)
        fail(n.spec->on_error().position(), fmt::format("'{}' rejects no rows", n.declaration->name), "no on_error:");
    }
    const bool connected = connections_.connect(index);
    if (!good || !connected || faults_.size() != faults_before) return false;
    node_checker checker(graph_, n, file_bytes_, faults_);
    if (n.declaration->check) n.declaration->check(checker);
    if (!checker.ok() || faults_.size() != faults_before) return false;
    for (const output_port& port : n.outputs)
      if (port.type.num_columns() == 0)
        internal_error(
            fmt::format("the check of '{}' leaves its output '{}' without a row type", n.declaration->name, port.name));
    return true;
  }

  void add_files(node& n, int index) {
    int64_t total = 0;
    const std::vector<file_use> files = files_of(n, index);
    for (const file_use& use : files) {
      files_.push_back(use);
      if (use.writes || total < 0) continue;
      const int64_t num_bytes = file_bytes_ && use.path != "-" ? file_bytes_(use.path) : -1;
      total = num_bytes < 0 ? -1 : total + num_bytes;
    }
    if (!files.empty() && !files.front().writes && total >= 0) n.facts["input_bytes"] = static_cast<uint64_t>(total);
  }

  graph& graph_;
  std::vector<fault>& faults_;
  const operator_catalog& catalog_;
  const file_bytes_function& file_bytes_;
  std::vector<bool> good_;
  connector connections_;
  std::vector<file_use> files_;
};

}  // namespace

check_result check(std::shared_ptr<const specs::JobSpec> job, const operator_catalog& catalog,
                   const file_bytes_function& file_bytes) {
  check_result result;
  result.checked.job = std::move(job);
  graph_checker(result.checked, result.faults, catalog, file_bytes).run();
  return result;
}

}  // namespace flowrun::plan
