// An operator as a whole: its declaration and how to build it. operators/NAME.cc defines one, operators/registry.cc
// lists all.
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "engine/exec/operator.h"
#include "engine/exec/services.h"
#include "engine/plan/node_checker.h"
#include "engine/plan/operator_declaration.h"
#include "engine/plan/physical_plan.h"

namespace flowrun::exec {

// A node's executable parts. A head (sources, source halves, meeting nodes) and any number of stages behind each other;
// the ports of the last part are the ports of the node. Parts of one node need not be of one kind: file.read_csv is a
// head that cuts the text at line ends, and a stateless stage that parses.
using stage = std::variant<std::unique_ptr<stateless_stage>, std::unique_ptr<ordered_stage>>;
struct assembly {
  std::unique_ptr<source> head;
  std::vector<stage> stages;
};

struct build_context {
  plan::node_checker& params;  // the same reader that check() used; reports no faults any more
  const plan::node& node;      // outputs[i].type: row types; they live as long as the job
  const record::row_type& input_type(size_t i = 0) const { return params.input_type(i); }
  const record::row_type& output_type(size_t i = 0) const { return node.outputs[i].type; }
  std::vector<input_stream*> inputs;  // of a meeting node, in the order of node.inputs
  services& job;                      // pool, disks, backend, tasks, cancellation
  uint64_t memory_bytes = 0;          // this node's (half's) share
  // Of a breaker's sink half, and of a stored input: what it may still hold when its phase has ended.
  uint64_t kept_bytes = 0;
  const plan::sort_prediction* sort = nullptr;  // of a breaker: its blocks and buffers, as planned
  size_t batch_bytes = 0;                       // target size of a batch
  // Of a breaker: 0 sink, 1 source. Of a node with stored inputs: 0 for the stage that takes one of them in, 1 for the
  // node itself: a stage, or the head of its pipeline.
  int half = 0;
  size_t input = 0;         // of half 0 of a node with stored inputs: which one
  std::any& state;          // of a breaker: what the sink half leaves for the source half
  node_counters& counters;  // rows rejected, runs, passes, …: see services.h
  // Of a node with stored inputs, by input: what half 0 leaves for half 1. Of an input `as_vector`: stored_rows. Let go
  // of after the phase in which the node has run.
  std::span<std::any> states = {};
};

struct control_context;

struct operator_definition {
  plan::operator_declaration declaration;
  std::function<assembly(build_context&)> build;
  std::function<void(control_context&)> control = {};  // of control nodes, instead of build
};

}  // namespace flowrun::exec
