// Runs the phases of a graph's plan one after another: the job's own graph once, the body of a loop again and again.
//
//   for each phase: build its pipelines ─▶ run them to their end ─▶ take them down
//   for the phase of a control node: hand over to the operator, which runs bodies (control_context.h)
#pragma once

#include <memory>
#include <vector>

#include "engine/exec/graph_host.h"
#include "engine/exec/pipeline_builder.h"
#include "engine/plan/physical_plan.h"

namespace flowrun::exec {

class body_runner;

// When a phase ran last, in nanoseconds of now_ns().
struct phase_time {
  uint64_t start_ns = 0;         // 0: not yet
  uint64_t end_ns = 0;           // 0: it runs, or not yet
  bool finished_before = false;  // by the run that this one goes on from
};

class graph_runner {
 public:
  // All outlive it. `g` is the graph that `plan` was made for; `record` may count for several runners of it. `job`:
  // what operators see. `result`: memory of each vector that takes a result of a body.
  graph_runner(const plan::graph& g, const plan::physical_plan& plan, graph_record& record, graph_host& host,
               services& job, const vector_memory& result);
  ~graph_runner();
  graph_runner(const graph_runner&) = delete;
  graph_runner& operator=(const graph_runner&) = delete;

  // `streams`: of a body; null otherwise. Throws the first error. May be called again after it has returned.
  void run(stream_table* streams);
  size_t phase() const { return phase_; }  // the current one, from 0; their number once all are done
  const std::vector<phase_time>& phase_times() const { return times_; }

 private:
  void run_phase(size_t x, bool here);
  void run_control(int node);
  body_runner& body_of(int node, size_t body, const plan::machine& resources, const vector_memory& result);
  bool is_small(const stream_table* streams) const;

  const plan::graph& graph_;
  const plan::physical_plan& plan_;
  graph_record& record_;
  graph_host& host_;
  services& job_;
  pipeline_builder builder_;
  bool only_streams_ = true;  // all rows come from streams
  size_t phase_ = 0;
  std::vector<phase_time> times_;
  std::map<std::pair<int, size_t>, std::unique_ptr<body_runner>> bodies_;  // by control node and body
};

}  // namespace flowrun::exec
