// What a control node (loop, if, call) works with, in its phase.
//
//   inputs ─▶ run_body(…) ─▶ run_body(…) ─▶ … ─▶ outputs
//
// Its inputs are stored, and so is what it gives on. In a process rows lie in vectors, which the engine reads once the
// phase is over. Where a job runs as tasks, the driver runs the node, and rows lie in the files of its tasks. One
// thread calls all of this, and none of it lives longer than the operator's function.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/exec/graph_host.h"
#include "engine/exec/operator_definition.h"
#include "engine/plan/graph.h"

namespace flowrun::exec {

// Rows as a whole, as control nodes hand them around. Where they lie is known to what runs the node.
class held_rows {
 public:
  virtual ~held_rows() = default;
  // Once they are finished.
  virtual uint64_t num_rows() const = 0;
};
using rows_handle = std::shared_ptr<const held_rows>;

// Rows that come into a body and out of it, by the ids of its stream and result nodes.
struct body_streams {
  std::map<std::string, rows_handle> in, out;
  std::map<std::string, uint64_t> counts;
  // The caller doesn't need `in` after the body: who runs it may take them out, to free them as they are read.
  bool in_is_used_up = false;
};

// Vectors of this process, for what has to do with more than whole rows.
struct vector_access {
  services& job;
  // An empty vector with the node's share of memory. `sorted_by`: keeps an index, so that readers can seek.
  std::function<std::shared_ptr<container::external_vector>(const record::row_type&, const plan::order& sorted_by)>
      make_vector = {};
  // Appends a batch, or finishes the vector; waits for the disks.
  std::function<void(container::external_vector&, record::batch)> append = {};
  std::function<void(container::external_vector&)> finish = {};
  // The next batch of a reader, until its pop(); null behind the last one.
  std::function<const record::batch*(container::external_vector::reader&)> next_of = {};
  // Calls `step` until it is no longer blocked; waits for the disks.
  std::function<outcome(const std::function<outcome(waker&)>& step)> complete = {};
};

// Rows that lie in a vector.
struct vector_rows final : held_rows {
  explicit vector_rows(shared_rows finished) : rows(std::move(finished)) {}
  explicit vector_rows(std::shared_ptr<container::external_vector> empty) : rows(empty), growing(std::move(empty)) {}
  uint64_t num_rows() const override { return rows->num_rows(); }
  const shared_rows rows;
  const std::shared_ptr<container::external_vector> growing = nullptr;  // null: they were there before
};
inline const shared_rows& vector_of(const held_rows& rows) { return static_cast<const vector_rows&>(rows).rows; }
inline container::external_vector& growing_vector(const held_rows& rows) {
  return *static_cast<const vector_rows&>(rows).growing;
}

struct control_context {
  control_context(const plan::graph& g, const plan::node& n) : graph(g), node(n) {}
  virtual ~control_context() = default;
  control_context(const control_context&) = delete;
  control_context& operator=(const control_context&) = delete;

  const plan::graph& graph;  // that the node belongs to
  const plan::node& node;
  std::vector<rows_handle> inputs;   // by input of the node; rows that nothing refers to any more are freed
  std::vector<rows_handle> outputs;  // by output: to be set, unless no node reads it
  uint64_t body_bytes = 0;           // memory of the graphs that it runs
  call_stack* calls = nullptr;       // of the first of them

  // What the scalars around the node are worth now: its bodies see them too.
  const expr::scalar_values& scalars() const { return graph.scalars; }
  // What its own expressions may name: values of its `scalars:`, then those around it.
  expr::scalar_values known_scalars;
  bool is_read(size_t output) const { return !node.outputs[output].consumers.empty(); }

  virtual record::batch_pool& pool() = 0;
  // No rows yet. `sorted_by`: their order, by which nodes of a body seek in them.
  virtual std::shared_ptr<held_rows> make_rows(const record::row_type& type, const plan::order& sorted_by) = 0;
  virtual void append(held_rows& to, record::batch rows) = 0;
  virtual void append_all(held_rows& to, const held_rows& from) = 0;
  // No more rows come: they can be read.
  virtual void finish(held_rows& rows) = 0;
  // The first of them, of which there is one, as it is packed, without its strings.
  virtual std::vector<std::byte> first_of(const held_rows& rows) = 0;
  // Runs body i of the node (a recursive call's is 0) once. `streams.in` has rows for each stream that the body reads,
  // `streams.out` and `streams.counts` get the results. `scalars` are the values of the body's scalars, in their order.
  virtual void run_body(size_t i, body_streams& streams, const std::vector<uint64_t>& scalars) = 0;
  // "iteration 17": for the progress. Throws when the job has to stop.
  virtual void note(const std::string& what) = 0;
  virtual void count_iteration() = 0;
  // A result of the node that is worth a line in the report.
  virtual void report_value(const std::string& name, const std::string& value) = 0;
  // Null: its rows lie elsewhere.
  virtual vector_access* vectors() { return nullptr; }
};

// As define(), of control nodes. `run` evaluates the expressions of its settings with the values of each moment.
template <class settings>
operator_definition define_control(plan::operator_declaration declaration, settings (*check)(plan::node_checker&),
                                   void (*run)(control_context&, const settings&)) {
  declaration.check = [check](plan::node_checker& node) { return plan::checked_settings::of(check(node)); };
  return {std::move(declaration), {}, [run](control_context& c) { run(c, c.node.settings.template as<settings>()); }};
}

}  // namespace flowrun::exec
