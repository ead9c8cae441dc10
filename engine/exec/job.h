// A job at work: runs the phases of a physical plan one after another.
//
//   for each phase: build its pipelines ─▶ run them to their end ─▶ take them down
//   then: make the outputs appear under their names (decision D13)
//
// Phases, and the bodies of loops inside of them, are run by graph_runner.h; this is what they share: threads, disks,
// counters, outputs, errors.
//
// The first error stops everything; so does the stop flag (Ctrl-C). Either way the destructor waits for what the disks
// still do, and nothing is left behind: scratch files have no names, outputs had none yet.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/block/block_manager.h"
#include "engine/exec/graph_runner.h"
#include "engine/exec/services.h"
#include "engine/io/request.h"
#include "engine/metrics/work.h"
#include "engine/plan/graph.h"
#include "engine/plan/physical_plan.h"

namespace flowrun::exec {

class RunReport;
class task_executor;

struct job_settings {
  std::shared_ptr<plan::graph> graph;
  plan::physical_plan plan;
  operator_set operators;
  std::vector<block::disk_config> scratch;
  uint64_t scratch_limit = 0;  // bytes on all disks together; 0: no limit
  block::allocation_strategy allocation = block::allocation_strategy::randomised_cycling;
  io::service_order io_order = io::service_order::alternating;  // of the transfers that wait for a disk
  io::backend_kind backend = io::backend_kind::automatic;
  // For tests: what stands between the job and its disks (faults, delays). Gets the backend, gives the one to use. May
  // be empty.
  std::function<std::unique_ptr<io::backend>(std::unique_ptr<io::backend>)> wrap_backend;
  std::shared_ptr<resume::manifest> manifest;  // of a job that can be resumed; may be null
  bool plain_executor = false;                 // everything on the calling thread, in a fixed order: for tests
  // For tests: who runs the tasks, in place of an arena and of the calling thread. May be empty.
  std::function<std::unique_ptr<task_executor>()> make_executor;
  job_options options;
};

// How far the job is. Work is counted in bytes that pipeline heads give on: sources and merges.
struct job_progress {
  size_t phase = 0;  // from 0
  size_t num_phases = 0;
  double done_ratio = 0;    // 0 … 1, never goes back
  metrics::job_work work;   // what the ratio comes from, as it is known by now
  uint64_t rows_done = 0;   // given on by heads so far
  uint64_t bytes_read = 0;  // of input files
  uint64_t iterations = 0;  // of all loops
  std::string activity;     // the phase's main node; "levels: iteration 17"
};

class job {
 public:
  explicit job(job_settings settings);
  ~job();
  job(const job&) = delete;
  job& operator=(const job&) = delete;

  // Makes and opens all scratch directories now, for jobs that will use them or may: one that can't be used is found
  // out before any work was done. Throws error(resources) naming it.
  void open_scratch();
  // Runs to the end. Throws the first error; error(cancelled) once `stop` was seen true. `tick` (may be empty) is
  // called on this thread about ten times a second. Once only.
  void run(const std::function<void()>& tick, const std::atomic<bool>& stop);

  // From the thread that runs the job, or after it.
  job_progress progress() const;
  node_counters& counters(size_t node);
  // What is counted for all graphs: the job's own comes first, then those inside of control nodes. From any thread.
  const std::deque<graph_record>& records() const;
  // Of all nodes of all these graphs that the report has. They outlive the job; from any thread.
  std::vector<std::shared_ptr<row_tap>> taps() const;
  std::vector<block::disk_usage> disks() const;
  std::string_view backend_name() const;  // "io_uring", "threads", …
  uint64_t batch_bytes_held() const;
  // Everything there is to say, also after a failure (`problem`: what run() threw; may be null).
  RunReport report(const std::exception* problem) const;
  // Lines that operators wanted the user to see.
  std::vector<std::string> warnings() const;
  const plan::graph& graph() const;
  const plan::physical_plan& plan() const;

 private:
  class core;
  std::unique_ptr<core> core_;
};

}  // namespace flowrun::exec
