// From the plan to things that run: builds the operators of a pipeline and puts them together as a tree.
#pragma once

#include <any>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/exec/edge_queue.h"
#include "engine/exec/graph_host.h"
#include "engine/exec/operator_definition.h"
#include "engine/exec/pipeline.h"
#include "engine/plan/physical_plan.h"

namespace flowrun::exec {

// Queues, breakers' states, stored inputs and counters: what pipelines of several phases share. The graph outlives it.
class pipeline_builder {
 public:
  // `result`: the memory of each vector that takes a result of a body.
  pipeline_builder(const plan::graph& g, const plan::physical_plan& plan, const operator_set& operators, services& job,
                   graph_record& record, const vector_memory& result);

  // Builds the operators of pipeline `index`. Throws what building throws (an input that is not there, …).
  pipeline_tree build(size_t index);
  // Makes the queues that pipelines of this phase feed or drain, and lets go of those that are no longer needed.
  void begin_phase(size_t phase);
  void end_phase(size_t phase);
  // The pipelines are being taken down: queues that outlive them no longer wake any of them.
  void forget_wakers();

  // For a body: where its rows come from and go to in the next run.
  void set_streams(stream_table* streams);
  // Takes a stored input `as_vector` out: afterwards only the caller owns it.
  shared_rows take_stored(size_t node, size_t input);
  // What the expressions of a node may name, once the rows of its `scalars:` were taken in: values of those, then of
  // the scalars around it.
  expr::scalar_values scalars_of(size_t node) const;
  // What a control node gives on, by output.
  void set_results(size_t node, std::vector<shared_rows> results) { results_[node] = std::move(results); }

 private:
  // Where the batches of a node's output come from.
  struct tail {
    bool is_head = false;
    uint32_t stage = 0;
  };
  assembly build_node(size_t node, plan::node_part part, size_t input, std::vector<input_stream*> inputs,
                      uint64_t longest_row);
  void go_on(const plan::pipeline& p);
  static bool have_states(const pipeline_tree& tree, const ordered_stage* end);
  void keep_states(pipeline_tree& tree);
  bool build_engine_part(size_t node, plan::node_part part, size_t input, assembly& out);
  std::unique_ptr<source> read_results(size_t node);
  shared_rows rows_of_stream(const std::string& id);
  void build_head(pipeline_tree& tree, const plan::pipeline& p, std::map<int, tail>& tails);
  void add_store(pipeline_tree& tree, const plan::stored_input& s, const std::map<int, tail>& tails);
  void add_queue(pipeline_tree& tree, int queue, const std::map<int, tail>& tails);
  std::vector<std::vector<uint32_t>>& children_of(pipeline_tree& tree, const tail& t) const;
  void attach(pipeline_tree& tree, const tail& parent, unsigned port, uint32_t child) const;
  void add_stages(pipeline_tree& tree, size_t node, std::vector<stage> stages, const tail* parent, unsigned port,
                  std::map<int, tail>& tails);
  bool fuse(pipeline_tree& tree, size_t node, stage& next, const tail& parent, std::map<int, tail>& tails);
  int phase_of_reader(const plan::queue& q) const;
  int phase_of_writer(int queue) const;

  const plan::graph& graph_;
  const plan::physical_plan& plan_;
  const operator_set& operators_;
  services& job_;
  std::deque<node_counters>& counters_;
  std::vector<int>& fused_with_;
  const std::vector<std::shared_ptr<row_tap>>& taps_;
  const vector_memory result_memory_;
  stream_table* streams_ = nullptr;
  std::map<std::string, size_t> readers_left_;       // of the streams, where they are used up
  std::vector<std::any> states_;                     // of breakers, by node
  std::vector<std::vector<std::any>> stored_;        // by node and input
  std::vector<std::vector<shared_rows>> results_;    // of control nodes, by node and output
  std::vector<expr::scalar_values> row_values_;      // by the node that takes the row in
  std::vector<std::unique_ptr<edge_queue>> queues_;  // by index in the plan
  // Of the pipeline being built, in a job that can be resumed:
  resume::pipeline_position begin_at_;
  bool notes_positions_ = false;
};

}  // namespace flowrun::exec
