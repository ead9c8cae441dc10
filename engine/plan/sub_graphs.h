// Graphs inside of nodes: what a control node's check asks for when it checks the body of a loop, the branches of an if
// or a graph that is called. Pure, as the check of every node is; the checker of the outer graph does the work.
//
//   inputs ─▶ (stream) ─▶ the body's nodes ─▶ (result) ─▶ outputs
//
// Streams from outside (one node for each reader) and results are nodes of operators that no user can name
// (body_ports.h). A stream that the body doesn't read is no fault; a node that no other node reads is one, as
// everywhere.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/plan/graph.h"

namespace flowrun::plan {

// Rows that the nodes of a body read by name.
struct body_input {
  std::string name;
  record::row_type type;
  order sorted_by;
  row_estimate estimate;
};

// Rows of a node of the body that the control node takes out, or only counts.
struct body_output {
  std::string id;  // distinct
  std::string from_node;
  std::string from_port;  // empty: the first output
  specs::Position position;
  bool only_count = false;
};

struct body_request {
  std::string path;  // what reports call it: "levels", "levels.inner"
  const google::protobuf::RepeatedPtrField<specs::Node>* nodes = nullptr;
  std::vector<body_input> inputs;
  std::vector<expr::constant> scalars;
  std::vector<body_output> outputs;
};

// A graph under `graphs:` for one set of input types: checked once, called from any number of nodes. It is shared with
// the calls inside of it, which find it unfinished.
struct graph_instance {
  std::shared_ptr<graph> body;
  bool finished = false;
  bool is_faulty = false;  // what is wrong with it has been told
  std::vector<record::row_type> declared;  // of the outputs; no columns: not declared
};

class sub_graphs {
 public:
  virtual ~sub_graphs() = default;
  // Checks a body into `body`. False when there are faults.
  virtual bool check(const body_request& request, graph& body, std::vector<fault>& faults) = 0;
  // By name, types and orders of its inputs, and types of its scalars.
  virtual std::map<std::string, graph_instance>& instances() = 0;
  // Bodies that are checked again forget the files that they named the first time.
  virtual size_t num_files() const = 0;
  virtual void forget_files(size_t from) = 0;
};

// "node" or "node.port" as an endpoint.
struct endpoint_name {
  std::string node;
  std::string port;
};
endpoint_name split_endpoint(const std::string& text);

}  // namespace flowrun::plan
