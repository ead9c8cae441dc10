// Job spec to checked graph: one walk in topological order. A node is checked once all it reads is known; behind a
// faulty node everything is silent, so that each report is a cause and not a consequence, unless its rows are known all
// the same (node_checker::pass_rows_on). The check of a control node asks for the check of its bodies, so that graphs
// are checked as deep as they are nested.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "engine/base/error.h"
#include "engine/plan/body_ports.h"
#include "engine/plan/connections.h"
#include "engine/plan/file_rules.h"
#include "engine/plan/graph_places.h"
#include "engine/plan/node_checker.h"
#include "engine/plan/operator_names.h"
#include "engine/plan/output_rules.h"
#include "engine/plan/parameter_shape.h"
#include "engine/plan/parameter_values.h"
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
  // `faulty_nodes`: of the job's own graph, in which reading has found something; null: it has found nothing.
  job_checker(std::vector<fault>& faults, const vocabulary& catalog, const known_files& files,
              const std::set<std::string>* faulty_nodes = nullptr)
      : faults_(faults), catalog_(catalog), known_(files), faulty_nodes_(faulty_nodes) {}

  void run(graph& g, const outer_files& others);

  bool check(const body_request& request, graph& body, std::vector<fault>& faults) override;
  std::map<std::string, graph_instance>& instances() override { return instances_; }
  size_t num_files() const override { return files_.size(); }
  void forget_files(size_t from) override { files_.resize(from); }

  const vocabulary& catalog() const { return catalog_; }
  const known_files& known() const { return known_; }
  std::vector<file_use>& files() { return files_; }
  bool is_whole() const { return faulty_nodes_ == nullptr; }
  bool is_faulty(const graph& g, const std::string& node) const {
    return faulty_nodes_ != nullptr && g.path.empty() && faulty_nodes_->contains(node);
  }

 private:
  void read_types(graph& g);
  uint64_t num_graphs(const graph& g);
  void count_graphs(const graph& g);

  std::vector<fault>& faults_;
  const vocabulary& catalog_;
  const known_files& known_;
  const std::set<std::string>* const faulty_nodes_;
  std::vector<file_use> files_;
  std::map<std::string, graph_instance> instances_;
  std::shared_ptr<const specs::JobSpec> job_;
  std::map<std::string, record::row_type> types_;
  std::shared_ptr<const std::vector<expr::parameter>> parameters_;
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
    if (sequence.size() < nodes.size() && shared_.is_whole()) report_circle(nodes, sequence);
    const std::vector<const body_input*> streams = request ? streams_of(*request) : std::vector<const body_input*>();
    const size_t num_streams = streams.size();
    const size_t num_results = request ? request->outputs.size() : 0;
    const std::vector<graph_place> places = places_of(nodes, sequence, shared_.catalog());
    graph_.nodes.resize(num_streams + places.size() + num_results);  // at once: others hold references
    good_.assign(graph_.nodes.size(), false);
    for (size_t i = 0; i < num_streams; ++i) add_stream(i, *streams[i]);
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i].spec == nullptr) continue;
      if (places[i].waits) {
        add_own_node(num_streams + i, places[i].spec->id() + " (waits)", waiting_rows(), places[i].spec->position());
        continue;
      }
      node& n = graph_.nodes[num_streams + i];
      n.spec = places[i].spec;
      n.id = n.spec->id();
    }
    for (size_t i = 0; i < num_streams; ++i) check_name_is_free(num_streams, i);
    for (size_t i = num_streams; i < num_streams + places.size(); ++i) {
      if (const specs::Input* row = places[i - num_streams].row)
        add_row_values(i, *row);
      else if (!places[i - num_streams].waits)
        good_[i] = check_node(static_cast<int>(i));
    }
    for (size_t i = 0; i < num_results; ++i) {
      const body_output& out = request->outputs[i];
      add_taker(num_streams + places.size() + i, out.id, out.only_count ? body_count() : body_result(),
                {out.from_node, out.from_port}, out.position);
    }
    if (shared_.is_whole()) check_outputs_used(graph_, good_, connections_, faults_);
  }

 private:
  void fail(const specs::Position& where, std::string message, std::string expected = {}, std::string hint = {}) {
    faults_.push_back(
        {specs::where(graph_.job->file(), where), std::move(message), std::move(expected), std::move(hint)});
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

  // A node that the user didn't write.
  specs::Node& add_own_node(size_t index, const std::string& id, const operator_declaration& declaration,
                            const specs::Position& position) {
    auto spec = std::make_shared<specs::Node>();
    spec->set_id(id);
    *spec->mutable_position() = position;
    *spec->mutable_op_position() = position;
    node& n = graph_.nodes[index];
    n.id = id;
    n.declaration = &declaration;
    n.spec = spec.get();
    for (const port_declaration& port : declaration.outputs) n.outputs.emplace_back().name = port.name;
    graph_.own_specs.push_back(spec);
    return *spec;
  }

  // One that takes in rows.
  void add_taker(size_t index, const std::string& id, const operator_declaration& declaration,
                 const endpoint_name& from, const specs::Position& position) {
    specs::Node& spec = add_own_node(index, id, declaration, position);
    spec.set_input_form(specs::INPUT_SINGLE);
    specs::Input& in = *spec.add_inputs();
    in.set_from_node(from.node);
    in.set_from_port(from.port);
    *in.mutable_position() = position;
    good_[index] = connections_.connect(static_cast<int>(index));
  }

  void add_row_values(size_t index, const specs::Input& row) {
    const std::string port = row.from_port().empty() ? "" : "." + row.from_port();
    add_taker(index, "values of " + row.from_node() + port, row_values(), {row.from_node(), row.from_port()},
              row.position());
    takes_row_.emplace(std::pair(row.from_node(), row.from_port()), static_cast<int>(index));
  }

  // Whose values the node's expressions may name, and how. False: something is wrong with one of them, or behind it.
  bool add_scalars(node& n) {
    bool good = true;
    const bool named = n.spec->scalars_form() == specs::INPUT_NAMED;
    for (const specs::Input& row : n.spec->scalars()) {
      const std::string& name = named ? row.port() : row.from_node();
      const auto taken_by = takes_row_.find({row.from_node(), row.from_port()});
      good = good && taken_by != takes_row_.end() && good_[static_cast<size_t>(taken_by->second)];
      if (taken_by == takes_row_.end()) continue;
      const size_t before = faults_.size();
      if (!specs::is_column_name(name) || expr::is_reserved_word(name))
        fail(row.position(), fmt::format("'{}' can't be named in an expression", name),
             "a letter or _, then letters, digits and _; no word of expressions", "scalars: {name: node}");
      if (std::any_of(n.scalars.begin(), n.scalars.end(), [&](const scalar_row& s) { return s.name == name; }))
        fail(row.position(), fmt::format("'{}' has scalars of '{}' already", n.id, name), "scalars: {name: node, …}");
      good = good && faults_.size() == before;
      n.scalars.push_back({name, taken_by->second, &row});
    }
    return good;
  }

  // The reader reports circles with their path; this is for specs that came another way.
  void report_circle(const std::vector<const specs::Node*>& nodes, const std::vector<int>& sequence) {
    for (size_t i = 0; i < nodes.size(); ++i)
      if (std::find(sequence.begin(), sequence.end(), static_cast<int>(i)) == sequence.end())
        return fail(nodes[i]->in_position(), fmt::format("'{}' is on a circle of nodes, or behind one", nodes[i]->id()),
                    "nodes that only read from nodes before them");
  }

  bool find_operator(node& n) {
    n.declaration = shared_.catalog().find(n.spec->op());
    if (std::optional<fault> unknown = unknown_operator(*n.spec, graph_.job->file(), shared_.catalog()))
      faults_.push_back(*std::move(unknown));
    return n.declaration != nullptr;
  }

  // Puts what waits, which has its place in front of the node, between it and what it reads.
  void let_rows_wait(int index) {
    node& n = graph_.nodes[static_cast<size_t>(index)];
    int place = index;
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      input_port& in = n.inputs[k];
      if (n.scalars.empty() || !takes_in_early(*n.declaration, in.stored, in.as_vector)) continue;
      node& waits = graph_.nodes[static_cast<size_t>(--place)];
      FLOWRUN_CHECK(waits.declaration == &waiting_rows());
      waits.scalars = n.scalars;
      waits.inputs.push_back({"in", in.from_node, in.from_port, in.spec, false, false});
      waits.outputs[0].consumers.emplace_back(index, static_cast<int>(k));
      auto& readers =
          graph_.nodes[static_cast<size_t>(in.from_node)].outputs[static_cast<size_t>(in.from_port)].consumers;
      std::replace(readers.begin(), readers.end(), std::pair(index, static_cast<int>(k)), std::pair(place, 0));
      in.from_node = place;
      in.from_port = 0;
      node_checker checker(graph_, waits, shared_.known(), faults_);
      waits.settings = waits.declaration->check(checker);
      good_[static_cast<size_t>(place)] = true;
    }
  }

  bool check_node(int index) {
    node& n = graph_.nodes[static_cast<size_t>(index)];
    if (shared_.is_faulty(graph_, n.id)) return false;
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
    const bool has_scalars = add_scalars(n);
    if (!good || !connected || !has_scalars || faults_.size() != faults_before) return false;
    let_rows_wait(index);
    node_checker checker(graph_, n, shared_.known(), faults_, &shared_);
    if (n.declaration->check) n.settings = n.declaration->check(checker);
    if (checker.ok()) checker.check_scalars_named();
    if (!checker.ok() || faults_.size() != faults_before) return checker.passes_rows_on();
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
    const bool moves_files = n.role() == operator_role::source || n.role() == operator_role::sink;
    if (moves_files && !files.empty() && !files.front().writes && total >= 0)
      n.facts.input_bytes = static_cast<uint64_t>(total);
  }

  graph& graph_;
  std::vector<fault>& faults_;
  job_checker& shared_;
  std::vector<bool> good_;
  connector connections_;
  std::map<std::pair<std::string, std::string>, int> takes_row_;  // by node and port, as in scalars: the node that does
};

void job_checker::run(graph& g, const outer_files& others) {
  job_ = g.job;
  read_types(g);
  types_ = g.types;
  g.parameters = parameters_ = std::make_shared<const std::vector<expr::parameter>>(parameter_values(*g.job));
  graph_checker(g, faults_, *this).run(g.job->nodes(), nullptr);
  if (!is_whole()) return;
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
  body.parameters = parameters_;
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
                   const outer_files& others, std::vector<expr::constant> scalars) {
  check_result result;
  result.checked.job = std::move(job);
  result.checked.scalars = std::move(scalars);
  result.checked.functions = catalog.functions();
  job_checker(result.faults, catalog, files).run(result.checked, others);
  return result;
}

check_result check(std::shared_ptr<const specs::JobSpec> job, const vocabulary& catalog, const known_files& files) {
  return check(std::move(job), catalog, files, {});
}

std::vector<fault> check_beside(std::shared_ptr<const specs::JobSpec> job, const vocabulary& catalog,
                                const known_files& files, const std::set<std::string>& faulty_nodes) {
  std::vector<fault> out;
  graph checked;
  checked.job = std::move(job);
  checked.functions = catalog.functions();
  job_checker(out, catalog, files, &faulty_nodes).run(checked, {});
  return out;
}

}  // namespace flowrun::plan
