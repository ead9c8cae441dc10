// Job spec to checked graph: one walk in topological order. A node is checked once all it reads is known; behind a
// faulty node everything is silent, so that each report is a cause and not a consequence. The check of a control node
// asks for the check of its bodies, so that graphs are checked as deep as they are nested.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/plan/body_ports.h"
#include "engine/plan/connections.h"
#include "engine/plan/file_rules.h"
#include "engine/plan/known_elsewhere.h"
#include "engine/plan/node_checker.h"
#include "engine/plan/output_rules.h"
#include "engine/plan/parameter_shape.h"
#include "engine/plan/sub_graphs.h"
#include "specs/type_reader.h"
#include "specs/value.h"

namespace flowrun::plan {

namespace {

class graph_checker;

// Checking and planning take time for each of them.
constexpr uint64_t most_graphs = 4096;
constexpr const char* fewer_graphs = "fewer calls and loops inside of each other";
constexpr const char* fewer_graphs_hint =
    "a graph counts once for each node that runs it, with all graphs inside of it";

// What the checks of a job's graphs share.
class job_checker final : public sub_graphs {
 public:
  job_checker(std::vector<fault>& faults, const vocabulary& catalog, const known_files& files)
      : faults_(faults), catalog_(catalog), known_(files) {}

  void run(graph& g, const outer_files& others);

  bool check(const body_request& request, graph& body, std::vector<fault>& faults) override;
  std::map<std::string, graph_instance>& instances() override { return instances_; }
  size_t num_files() const override { return files_.size(); }
  void forget_files(size_t from) override { files_.resize(from); }

  const vocabulary& catalog() const { return catalog_; }
  const known_files& known() const { return known_; }
  std::vector<file_use>& files() { return files_; }

 private:
  void read_types(graph& g);
  uint64_t num_graphs(const graph& g);
  void count_graphs(const graph& g);

  std::vector<fault>& faults_;
  const vocabulary& catalog_;
  const known_files& known_;
  std::vector<file_use> files_;
  std::map<std::string, graph_instance> instances_;
  std::shared_ptr<const specs::JobSpec> job_;
  std::map<std::string, record::row_type> types_;
  int depth_ = 0;            // of bodies in bodies
  uint64_t num_bodies_ = 0;  // that were checked
  std::map<const graph*, uint64_t> num_graphs_;
};

class graph_checker {
 public:
  graph_checker(graph& g, std::vector<fault>& faults, job_checker& shared)
      : graph_(g), faults_(faults), shared_(shared), connections_(g, good_, faults) {}

  // `request`: of a body.
  void run(const google::protobuf::RepeatedPtrField<specs::Node>& given, const body_request* request) {
    std::vector<const specs::Node*> nodes;
    for (const specs::Node& n : given) nodes.push_back(&n);
    const std::vector<int> sequence = topological_order(nodes);
    if (sequence.size() < nodes.size()) report_circle(nodes, sequence);
    const std::vector<const body_input*> streams = request ? streams_of(*request) : std::vector<const body_input*>();
    const size_t num_streams = streams.size();
    const size_t num_results = request ? request->outputs.size() : 0;
    graph_.nodes.resize(num_streams + sequence.size() + num_results);  // at once: others hold references
    good_.assign(graph_.nodes.size(), false);
    for (size_t i = 0; i < num_streams; ++i) add_stream(i, *streams[i]);
    for (size_t i = 0; i < sequence.size(); ++i) {
      node& n = graph_.nodes[num_streams + i];
      n.spec = nodes[static_cast<size_t>(sequence[i])];
      n.id = n.spec->id();
    }
    for (size_t i = 0; i < num_streams; ++i) check_name_is_free(num_streams, i);
    for (size_t i = 0; i < sequence.size(); ++i) good_[num_streams + i] = check_node(static_cast<int>(num_streams + i));
    for (size_t i = 0; i < num_results; ++i) add_result(num_streams + sequence.size() + i, request->outputs[i]);
    check_outputs_used(graph_, good_, connections_, faults_);
  }

 private:
  void fail(const specs::Position& where, std::string message, std::string expected = {}, std::string hint = {}) {
    faults_.push_back(
        {specs::where(graph_.job->file(), where), std::move(message), std::move(expected), std::move(hint)});
  }

  // One node for each reader, all with the stream's name: rows that lie in a vector are read as often as they are
  // wanted, and branches that start with them need not run in step.
  static std::vector<const body_input*> streams_of(const body_request& request) {
    std::vector<const body_input*> out;
    for (const body_input& in : request.inputs) {
      size_t readers = 0;
      for (const specs::Node& n : *request.nodes)
        for (const specs::Input& from : n.inputs()) readers += from.from_node() == in.name ? 1 : 0;
      for (const body_output& result : request.outputs) readers += result.from_node == in.name ? 1 : 0;
      out.insert(out.end(), std::max<size_t>(readers, 1), &in);
    }
    return out;
  }

  void add_stream(size_t index, const body_input& in) {
    auto spec = std::make_shared<specs::Node>();
    spec->set_id(in.name);
    spec->set_op(body_stream().name);
    node& n = graph_.nodes[index];
    n.id = in.name;
    n.declaration = &body_stream();
    n.spec = spec.get();
    graph_.own_specs.push_back(std::move(spec));
    n.outputs.push_back({"out", in.type, in.sorted_by, in.estimate, {}});
    good_[index] = true;
  }

  void check_name_is_free(size_t num_streams, size_t stream) {
    if (stream > 0 && graph_.nodes[stream].id == graph_.nodes[stream - 1].id) return;
    for (size_t i = num_streams; i < graph_.nodes.size(); ++i)
      if (graph_.nodes[i].spec && graph_.nodes[i].id == graph_.nodes[stream].id)
        fail(graph_.nodes[i].spec->position(),
             fmt::format("'{}' is the name of a stream that '{}' gives to its nodes", graph_.nodes[i].id, graph_.path),
             "another name");
  }

  void add_result(size_t index, const body_output& out) {
    auto spec = std::make_shared<specs::Node>();
    spec->set_id(out.id);
    *spec->mutable_position() = out.position;
    *spec->mutable_op_position() = out.position;
    spec->set_input_form(specs::INPUT_SINGLE);
    specs::Input& in = *spec->add_inputs();
    in.set_from_node(out.from_node);
    in.set_from_port(out.from_port);
    *in.mutable_position() = out.position;
    node& n = graph_.nodes[index];
    n.id = out.id;
    n.declaration = out.only_count ? &body_count() : &body_result();
    n.spec = spec.get();
    graph_.own_specs.push_back(std::move(spec));
    good_[index] = connections_.connect(static_cast<int>(index));
  }

  // The reader reports circles with their path; this is for specs that came another way.
  void report_circle(const std::vector<const specs::Node*>& nodes, const std::vector<int>& sequence) {
    for (size_t i = 0; i < nodes.size(); ++i)
      if (std::find(sequence.begin(), sequence.end(), static_cast<int>(i)) == sequence.end())
        return fail(nodes[i]->in_position(), fmt::format("'{}' is on a circle of nodes, or behind one", nodes[i]->id()),
                    "nodes that only read from nodes before them");
  }

  bool find_operator(node& n) {
    const std::string& name = n.spec->op();
    n.declaration = shared_.catalog().find(name);
    if (!n.declaration && !name.empty()) {
      const std::vector<std::string> names = shared_.catalog().names();
      std::string hint = known_elsewhere(name);
      if (hint.empty()) hint = did_you_mean(name, names);
      const size_t point = name.find('.');
      if (hint.empty() && point != std::string::npos && !name.starts_with("file."))
        hint = fmt::format("a job names the plugins that it needs: plugins: [{}]", name.substr(0, point));
      fail(n.spec->op_position(), fmt::format("unknown operator '{}'", name), one_of(names), std::move(hint));
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
      if (good) add_files(n);
      if (!graph_.path.empty() && n.declaration->role == operator_role::sink)
        fail(n.spec->op_position(), fmt::format("'{}' can't write inside of '{}'", n.id, graph_.path),
             "rows that the nodes give on",
             "hand them out (collect of a loop, out of an if, the outputs of a graph) and write them behind it");
      if (n.spec->has_on_error() && !n.declaration->has_error_port)
        fail(n.spec->on_error().position(), fmt::format("'{}' rejects no rows", n.declaration->name), "no on_error:");
    }
    const bool connected = connections_.connect(index);
    if (!good || !connected || faults_.size() != faults_before) return false;
    node_checker checker(graph_, n, shared_.known(), faults_, &shared_);
    if (n.declaration->check) n.settings = n.declaration->check(checker);
    if (!checker.ok() || faults_.size() != faults_before) return false;
    for (file_use& use : indexes_of(n)) shared_.files().push_back(std::move(use));
    for (const output_port& port : n.outputs)
      if (port.type.num_columns() == 0)
        internal_error(
            fmt::format("the check of '{}' leaves its output '{}' without a row type", n.declaration->name, port.name));
    return true;
  }

  void add_files(node& n) {
    int64_t total = 0;
    const std::vector<file_use> files = files_of(n);
    for (const file_use& use : files) {
      shared_.files().push_back(use);
      if (use.writes || total < 0) continue;
      const int64_t num_bytes = use.path != "-" ? shared_.known().num_bytes(use.path) : -1;
      total = num_bytes < 0 ? -1 : total + num_bytes;
    }
    if (!files.empty() && !files.front().writes && total >= 0) n.facts.input_bytes = static_cast<uint64_t>(total);
  }

  graph& graph_;
  std::vector<fault>& faults_;
  job_checker& shared_;
  std::vector<bool> good_;
  connector connections_;
};

void job_checker::run(graph& g, const outer_files& others) {
  job_ = g.job;
  read_types(g);
  types_ = g.types;
  graph_checker(g, faults_, *this).run(g.job->nodes(), nullptr);
  if (faults_.empty()) count_graphs(g);
  check_files(g.job->file(), files_, others, faults_);
}

// What can't be checked is told of where the body begins.
fault fault_of(const specs::JobSpec& job, const body_request& request, std::string message, std::string expected,
               std::string hint) {
  const specs::Position position = request.nodes->empty() ? specs::Position() : request.nodes->Get(0).position();
  return {specs::where(job.file(), position), std::move(message), std::move(expected), std::move(hint)};
}

bool job_checker::check(const body_request& request, graph& body, std::vector<fault>& faults) {
  constexpr int deepest = 32;
  const size_t before = faults.size();
  body.job = job_;
  body.types = types_;
  body.path = request.path;
  body.scalars = request.scalars;
  body.functions = catalog_.functions();
  if (depth_ == deepest) {
    faults.push_back(fault_of(*job_, request, fmt::format("'{}' is {} graphs deep", request.path, deepest),
                              "fewer loops and calls inside of each other",
                              "a graph that calls itself with ever new row types never comes to an end"));
    return false;
  }
  if (++num_bodies_ > most_graphs) {
    faults.push_back(fault_of(*job_, request, fmt::format("the job has more than {} graphs", most_graphs), fewer_graphs,
                              fewer_graphs_hint));
    return false;
  }
  ++depth_;
  graph_checker(body, faults, *this).run(*request.nodes, &request);
  --depth_;
  return faults.size() == before;
}

// A body counts once for each node that runs it, for so often it is planned: graphs that call the next one twice each
// are few to write and many to plan. What is beyond most_graphs is not counted.
uint64_t job_checker::num_graphs(const graph& g) {
  const auto [known, is_new] = num_graphs_.try_emplace(&g, 1);
  if (!is_new) return known->second;
  uint64_t sum = 1;
  for (const node& n : g.nodes)
    for (const auto& body : n.bodies) sum = std::min(sum + num_graphs(*body), most_graphs + 1);
  return num_graphs_[&g] = sum;
}

void job_checker::count_graphs(const graph& g) {
  uint64_t sum = 0;
  for (const node& n : g.nodes) {
    for (const auto& body : n.bodies) sum += num_graphs(*body);
    if (sum <= most_graphs) continue;
    faults_.push_back({specs::where(g.job->file(), n.spec->position()),
                       fmt::format("with '{}' the job has more than {} graphs", n.id, most_graphs), fewer_graphs,
                       fewer_graphs_hint});
    return;
  }
}

void job_checker::read_types(graph& g) {
  const std::string& file = g.job->file();
  for (const specs::TypeDecl& type : g.job->types()) {
    std::vector<record::column> columns;
    for (const specs::Column& c : type.columns()) {
      if (const auto parsed = record::parse_value_type(c.type()))
        columns.push_back({c.name(), *parsed});
      else
        faults_.push_back({specs::where(file, c.type_position()), fmt::format("unknown type '{}'", c.type()),
                           std::string(record::value_type_names()), specs::value_type_hint(c.type())});
      if (expr::is_reserved_word(c.name()))
        faults_.push_back({specs::where(file, c.position()),
                           fmt::format("'{}' can't name a column: expressions use the word", c.name()),
                           "another name",
                           {}});
    }
    g.types.emplace(type.name(), record::row_type(std::move(columns)));
  }
}

}  // namespace

endpoint_name split_endpoint(const std::string& text) {
  const size_t dot = text.find('.');
  return {text.substr(0, dot), dot == std::string::npos ? std::string() : text.substr(dot + 1)};
}

check_result check(std::shared_ptr<const specs::JobSpec> job, const vocabulary& catalog, const known_files& files,
                   const outer_files& others) {
  check_result result;
  result.checked.job = std::move(job);
  result.checked.functions = catalog.functions();
  job_checker(result.faults, catalog, files).run(result.checked, others);
  return result;
}

check_result check(std::shared_ptr<const specs::JobSpec> job, const vocabulary& catalog, const known_files& files) {
  return check(std::move(job), catalog, files, {});
}

}  // namespace flowrun::plan
