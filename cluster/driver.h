// The driver of a job on a cluster: cuts it into stages, has a scheduler run their tasks one stage after the other, and
// makes outputs of the parts that these have written.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cluster/scheduler.h"
#include "cluster/shared_directory.h"
#include "cluster/source_pieces.h"
#include "cluster/stages.h"
#include "engine/exec/graph_host.h"
#include "engine/exec/report.pb.h"
#include "engine/plan/graph.h"

namespace flowrun::cluster {

struct divided_job {
  std::shared_ptr<const plan::graph> graph;
  std::vector<std::vector<source_piece>>
      pieces;                 // by node; a single one of what isn't divided, none of what is no source
  std::vector<bool> divides;  // by node: find_stages()
  stages cut;
  size_t most_tasks = 1;  // of a stage without a source
  std::function<int64_t(const std::string&)> file_bytes;
};
// Into `most_tasks` tasks a stage at most; with `memory_bytes`, which is what a task has, into more where sorted runs
// are made that then need no scratch (tasks_in_memory.h). Throws error(bad_spec) for what can't be done by tasks:
// standard input and output.
divided_job divide(std::shared_ptr<const plan::graph> graph, size_t most_tasks,
                   std::function<int64_t(const std::string&)> file_bytes, uint64_t memory_bytes = 0);

struct driver_settings {
  divided_job job;
  // Empty, or as another process has left it that drove the same job: what is done then isn't done again. Files that no
  // later stage reads are removed as the job goes on.
  shared_directory directory;
  bool keeps = false;            // what is finished stays when the job fails
  exec::operator_set operators;  // all that the job may name
  // Loops, `if` and calls that have fewer bytes to read are run as a whole, by one task.
  uint64_t least_divided_bytes = usual_least_divided_bytes;
  uint64_t task_bytes = 0;  // of memory, that a task has
  std::string version;      // of the program
  std::string shown_name;   // of the job, in its outputs
};

// What is to be told while it runs.
struct driver_progress {
  size_t stage = 0, num_stages = 0, num_done = 0, num_tasks = 0;
  size_t num_tasks_before = 0;  // of the stages that have ended, those of bodies, too
  double ratio = 0;             // of the stage, 0 … 1
  uint64_t rows = 0;            // given on by sources and merges, in all stages so far
  uint64_t bytes_read = 0;      // of input files
  std::string nodes;            // of the stage: "sorted, counts"
  std::string inside;           // of which control nodes, and where these are: "levels: iteration 3"; empty: of none
};
struct driver_listener {
  // Several times a second. The first call for a stage says what another process has done of it.
  std::function<void(const driver_progress&)> progress;
  std::function<void(const std::string&)> warning;  // each once
  // A stage has ended, whose tasks count in the report. May be empty.
  std::function<void(const exec::RunReport& so_far)> counted = {};
};

class driver {
 public:
  // All of them outlive it.
  driver(const driver_settings& settings, scheduler& tasks, const driver_listener& listener,
         const std::atomic<bool>& stop);
  ~driver();
  driver(const driver&) = delete;
  driver& operator=(const driver&) = delete;

  // Once. Throws what ended a task. Outputs are in their places then, or else none of them is.
  void run();
  // As it is now, with what tasks at work have counted so far, and without the times of the whole job. On the thread of
  // run(): before it, in a call of the listener, or behind it, however it has ended.
  exec::RunReport report() const;

 private:
  class work;
  std::unique_ptr<work> work_;
};

}  // namespace flowrun::cluster
