// What the graphs of a job, the job's own and those inside of control nodes, share while they run.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/exec/operator_definition.h"
#include "engine/exec/pipeline.h"
#include "engine/exec/row_tap.h"
#include "engine/exec/services.h"
#include "engine/exec/vector_stages.h"
#include "engine/plan/graph.h"

namespace flowrun::exec {

using operator_set = std::map<std::string, const operator_definition*>;

// What is counted for the nodes of a graph, over all its runs. Made before the job starts, so that other threads may
// look at it.
struct graph_record {
  explicit graph_record(const plan::graph& g)
      : graph(&g), counters(g.nodes.size()), fused_with(g.nodes.size(), -1), taps(make_taps(g)) {}
  const plan::graph* graph;
  std::deque<node_counters> counters;
  std::vector<int> fused_with;  // the node whose program does this node's work too; -1 when it has its own stage
  std::vector<std::shared_ptr<row_tap>> taps;  // by node
};

// Rows that come into a body and out of it, by the ids of its stream and result nodes.
struct stream_table {
  std::map<std::string, shared_rows> in;
  std::map<std::string, std::shared_ptr<container::external_vector>> out;
  std::map<std::string, uint64_t> counts;
  // The caller doesn't need `in` after the body: the last reader of rows takes them out of it, so that they are freed
  // as they are read.
  bool in_is_used_up = false;
};

// Calls of a graph that are at work inside of each other, outermost first.
struct call_stack {
  struct level {
    std::vector<uint64_t> num_rows;  // that it was given, by stream
    uint64_t memory_bytes = 0;       // that its graph was given
  };
  std::vector<level> levels;
  size_t most_levels = 0;  // so far
};

class graph_host {
 public:
  virtual ~graph_host() = default;
  virtual services& job() = 0;
  virtual const operator_set& operators() const = 0;
  // The record of a graph as it was checked (copies that run share it).
  virtual graph_record& record_of(const plan::graph& checked) = 0;
  // Runs the pipelines to their end and takes them down. `here`: on the calling thread, for so little work that waking
  // others costs more. Throws the first error of the job; error(cancelled). `forget_wakers` is called when the
  // operators are gone, before the pipelines are.
  virtual void run_pipelines(std::vector<pipeline_tree> trees, bool here,
                             const std::function<void()>& forget_wakers) = 0;
  // The job's thread may wait for a disk: leaves `wakeup()` with the operation that will wake it, and calls wait(),
  // which returns after a wake or throws once the job has to stop. The waker lives as long as the job.
  virtual waker& wakeup() = 0;
  virtual void wait() = 0;
  // Throws once the job has to stop; shows progress now and then. For control nodes between two runs.
  virtual void look_around() = 0;
  virtual call_stack& calls_of(const plan::graph& checked) = 0;
  // What the progress says about control nodes at work, outermost first.
  virtual std::vector<std::string>& activities() = 0;
};

}  // namespace flowrun::exec
