// From the plan to things that run: builds the operators of a pipeline and puts them together as a tree.
#pragma once

#include <any>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/exec/edge_queue.h"
#include "engine/exec/operator_definition.h"
#include "engine/exec/pipeline.h"
#include "engine/plan/physical_plan.h"

namespace flowrun::exec {

using operator_set = std::map<std::string, const operator_definition*>;

// Queues, breakers' states and counters: what pipelines of several phases share. The graph outlives it.
class pipeline_builder {
 public:
  pipeline_builder(plan::graph& g, const plan::physical_plan& plan, const operator_set& operators, services& job);

  // Builds the operators of pipeline `index`. Throws what building throws (an input that is not there, …).
  pipeline_tree build(size_t index);
  // Makes the queues that pipelines of this phase feed or drain; and lets go of those nobody needs any more.
  void begin_phase(size_t phase);
  void end_phase(size_t phase);
  // The pipelines are being taken down: queues that outlive them wake nobody any more.
  void forget_wakers();

  node_counters& counters(size_t node) { return counters_[node]; }
  // The node whose program does this node's work too; -1 when it has its own stage.
  int fused_with(size_t node) const { return fused_with_[node]; }

 private:
  // Where the batches of a node's output come from.
  struct tail {
    bool is_head = false;
    uint32_t stage = 0;
  };
  assembly build_node(size_t node, int half, std::vector<input_stream*> inputs);
  std::vector<std::vector<uint32_t>>& children_of(pipeline_tree& tree, const tail& t) const;
  void attach(pipeline_tree& tree, const tail& parent, unsigned port, uint32_t child) const;
  void add_stages(pipeline_tree& tree, size_t node, std::vector<stage> stages, const tail* parent, unsigned port,
                  std::map<int, tail>& tails);
  bool fuse(pipeline_tree& tree, size_t node, stage& next, const tail& parent, std::map<int, tail>& tails);
  int phase_of_reader(const plan::queue& q) const;
  int phase_of_writer(int queue) const;

  plan::graph& graph_;
  const plan::physical_plan& plan_;
  const operator_set& operators_;
  services& job_;
  std::deque<node_counters> counters_;
  std::vector<int> fused_with_;
  std::vector<std::any> states_;                     // of breakers, by node
  std::vector<std::unique_ptr<edge_queue>> queues_;  // by index in the plan
  std::vector<fault> no_faults_;
  std::function<int64_t(const std::string&)> no_files_;
};

}  // namespace flowrun::exec
