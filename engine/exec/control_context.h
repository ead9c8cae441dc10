// What a control node (loop, if, call) works with, in its phase.
//
//   inputs ─▶ run_body(…) ─▶ run_body(…) ─▶ … ─▶ outputs
//
// Its inputs are stored; what it gives on are vectors, which the engine reads once the phase is over. One thread calls
// all of this, and none of it lives longer than the operator's function.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/exec/graph_host.h"
#include "engine/exec/operator_definition.h"
#include "engine/plan/graph.h"

namespace flowrun::exec {

struct control_context {
  control_context(const plan::graph& g, const plan::node& n, services& s, node_counters& c)
      : graph(g), node(n), job(s), counters(c) {}
  const plan::graph& graph;  // that the node belongs to
  const plan::node& node;
  services& job;
  node_counters& counters;
  std::vector<shared_rows> inputs;   // by input of the node; rows that nothing refers to any more are freed
  std::vector<shared_rows> outputs;  // by output: to be set, unless no node reads it
  uint64_t body_bytes = 0;           // memory of the graphs that it runs
  call_stack* calls = nullptr;       // of the first of them

  // What the scalars around the node are worth now: its bodies see them too.
  const expr::scalar_values& scalars() const { return graph.scalars; }
  // What its own expressions may name: values of its `scalars:`, then those around it.
  expr::scalar_values known_scalars;
  bool is_read(size_t output) const { return !node.outputs[output].consumers.empty(); }
  // An empty vector with this node's share of memory. `sorted_by`: keeps an index, so that readers can seek.
  std::function<std::shared_ptr<container::external_vector>(const record::row_type&, const plan::order& sorted_by)>
      make_vector;
  // Appends a batch, or finishes the vector; waits for the disks.
  std::function<void(container::external_vector&, record::batch)> append;
  std::function<void(container::external_vector&)> finish;
  // The next batch of a reader, until its pop(); null behind the last one.
  std::function<const record::batch*(container::external_vector::reader&)> next_of;
  // Runs body i of the node (a recursive call's is 0) once. `streams.in` has a vector for each stream that the body
  // reads, `streams.out` gets the results. `scalars` are the values of the body's scalars, in their order.
  std::function<void(size_t i, stream_table& streams, const std::vector<uint64_t>& scalars)> run_body;
  // Calls `step` until it is no longer blocked; waits for the disks.
  std::function<outcome(const std::function<outcome(waker&)>& step)> complete;
  // "iteration 17": for the progress. Throws when the job has to stop.
  std::function<void(const std::string& what)> note;
};

// As define(), of control nodes. `run` evaluates the expressions of its settings with the values of each moment.
template <class settings>
operator_definition define_control(plan::operator_declaration declaration, settings (*check)(plan::node_checker&),
                                   void (*run)(control_context&, const settings&)) {
  declaration.check = [check](plan::node_checker& node) { return plan::checked_settings::of(check(node)); };
  return {std::move(declaration), {}, [run](control_context& c) { run(c, c.node.settings.template as<settings>()); }};
}

}  // namespace flowrun::exec
