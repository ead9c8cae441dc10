// The checked graph of a job: nodes in topological order with the row type, order and estimate of every output.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/base/fault.h"
#include "engine/expr/expression.h"
#include "engine/plan/checked_settings.h"
#include "engine/plan/node_facts.h"
#include "engine/plan/operator_declaration.h"
#include "engine/plan/order.h"
#include "engine/plan/row_estimate.h"
#include "engine/record/row_type.h"
#include "specs/job.pb.h"

namespace flowrun::plan {

struct graph;

struct output_port {
  std::string name;
  record::row_type type;
  order sorted_by;
  row_estimate estimate;
  // (node, input index) of each consumer; several: a fork.
  std::vector<std::pair<int, int>> consumers;
};

struct input_port {
  std::string name;
  int from_node = -1;
  int from_port = 0;
  const specs::Input* spec = nullptr;  // what `in:` says; lives in graph::job
  // port_declaration; a check may change both (node_checker::store_input).
  bool stored = false;
  bool as_vector = false;
};

// A stream of one row, whose values the expressions of a node name: NAME.column. All nodes that do wait for one and the
// same node, which takes the row in (body_ports.h, row_values).
struct scalar_row {
  std::string name;
  int taken_by = -1;
  const specs::Input* spec = nullptr;  // what `scalars:` says; lives in graph::job
};

struct node {
  std::string id;
  const operator_declaration* declaration = nullptr;
  const specs::Node* spec = nullptr;  // parameters with their positions; lives in graph::job
  std::vector<input_port> inputs;
  std::vector<output_port> outputs;
  std::vector<scalar_row> scalars;
  // A sort whose input is already sorted by its keys: runs as an ordered stage instead of a breaker.
  bool elided = false;
  // The node's role in this graph. A sort may be elided. A meeting node of which all inputs but one are stored is a
  // stage. A node with nothing but stored inputs heads a pipeline like a source.
  operator_role role() const;
  bool stores() const;           // some input is stored
  size_t flowing_input() const;  // the first one that is not; only where there is one
  // Of a control node: the graphs that it runs. A recursive call has none of its own but the one that it is inside of.
  std::vector<std::shared_ptr<graph>> bodies;
  std::weak_ptr<graph> recursion;
  // What its check left: for the operator, and for the planner.
  checked_settings settings;
  node_facts facts;
};

struct graph {
  // Values that expressions of all nodes may name. Types are fixed when the graph is checked, values may change between
  // runs.
  std::vector<expr::constant> scalars;
  std::shared_ptr<const expr::outside_functions> functions;        // that expressions may call; may be null
  std::shared_ptr<const std::vector<expr::parameter>> parameters;  // that expressions name as params.NAME; may be null
  std::shared_ptr<const specs::JobSpec> job;
  std::string path;  // of a body: the control node it belongs to, "levels.inner". Empty: the job itself
  std::vector<std::shared_ptr<const specs::Node>> own_specs;  // of nodes that the user didn't write
  std::map<std::string, record::row_type> types;              // of `types:`
  std::vector<node> nodes;                                    // topological order
  const node* find(const std::string& id) const;
  const output_port& rows_of(const scalar_row& row) const {
    return input_of(nodes[static_cast<size_t>(row.taken_by)], 0);
  }
  const output_port& input_of(const node& n, size_t i) const {
    return nodes[static_cast<size_t>(n.inputs[i].from_node)].outputs[static_cast<size_t>(n.inputs[i].from_port)];
  }
  // "edges" or "edges.bad": what `in:` says, for messages.
  std::string input_name(const node& n, size_t i) const;
};

// The words that a job may use beyond those of the language itself: operators, by name, and the functions that plugins
// add to expressions. Owned by the caller who runs the job.
class vocabulary {
 public:
  void add(const operator_declaration* declaration);
  const operator_declaration* find(const std::string& name) const;
  std::vector<std::string> names() const;  // sorted

  void set_functions(std::shared_ptr<const expr::outside_functions> functions) { functions_ = std::move(functions); }
  // Null when there are none.
  const std::shared_ptr<const expr::outside_functions>& functions() const { return functions_; }

 private:
  std::map<std::string, const operator_declaration*> by_name_;
  std::shared_ptr<const expr::outside_functions> functions_;
};

// What a check may ask about the files that a job reads.
struct known_files {
  // Sizes alone, or nothing at all.
  known_files(std::function<int64_t(const std::string&)> sizes = {}) : sizes_(std::move(sizes)) {}
  template <class Sizes>
  requires std::is_invocable_r_v<int64_t, Sizes, const std::string&> known_files(Sizes sizes)
      : sizes_(std::move(sizes)) {}
  template <class Sizes>
  known_files(Sizes sizes, std::function<std::string(const std::string&, size_t)> beginnings)
      : sizes_(std::move(sizes)), beginnings_(std::move(beginnings)) {}

  // Negative: unknown.
  int64_t num_bytes(const std::string& path) const { return sizes_ ? sizes_(path) : -1; }
  // Its first `most_bytes` bytes; empty: they can't be looked at.
  std::string beginning(const std::string& path, size_t most_bytes) const {
    return beginnings_ ? beginnings_(path, most_bytes) : std::string();
  }

 private:
  std::function<int64_t(const std::string&)> sizes_;
  std::function<std::string(const std::string&, size_t)> beginnings_;
};

struct check_result {
  graph checked;              // meaningful only without faults
  std::vector<fault> faults;  // all of them
};

// Types, orders, ports, unused nodes, parameters: everything that can be known before the run. Pure but for what
// `files` answers.
check_result check(std::shared_ptr<const specs::JobSpec> job, const vocabulary& catalog, const known_files& files);

// Of a job in which reading has found faults, all of them in these nodes: what is wrong with the others, as far as they
// read none of them. Unused nodes and files are not looked at.
std::vector<fault> check_beside(std::shared_ptr<const specs::JobSpec> job, const vocabulary& catalog,
                                const known_files& files, const std::set<std::string>& faulty_nodes);

}  // namespace flowrun::plan
