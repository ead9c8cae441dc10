// Small jobs from their YAML, run as the command runs them.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/exec/job.h"
#include "engine/exec/report.pb.h"
#include "engine/exec/task_executor.h"
#include "engine/io/request.h"
#include "tests/support/checked_job.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::exec {

// How a job is run.
struct job_place {
  bool plain = false;
  unsigned threads = 2;
  io::backend_kind backend = io::backend_kind::threads;
  bool direct = true;
  bool force_spill = false;
  uint64_t memory_bytes = 48 * MiB;  // 0: the least that the planner accepts
  uint64_t batch_bytes = 16 * KiB;
  uint64_t block_bytes = 0;
  uint64_t scratch_limit = 0;
  std::function<std::unique_ptr<io::backend>(std::unique_ptr<io::backend>)> wrap_backend;
  std::function<std::unique_ptr<task_executor>()> make_executor;
  std::function<void(const plan::graph&, plan::physical_plan&)> change_plan;  // before the job gets it
  exec::more_operators more_operators;
};

class job_rig {
 public:
  // `nodes` is the text under nodes:, each line with its indentation; @OUT and @IN in it are directories of the rig. A
  // job with faults fails the test.
  job_rig(const std::string& nodes, const job_place& place);
  job_rig(const job_rig&) = delete;
  job_rig& operator=(const job_rig&) = delete;

  exec::job& job() { return *job_; }
  // Runs it; the error it ends with, or null.
  std::unique_ptr<error> run(const std::function<void()>& tick = {});
  // Throws what it ends with.
  void run_or_throw(const std::function<void()>& tick = {}) { job_->run(tick, stop_); }
  std::atomic<bool>& stop() { return stop_; }
  void destroy() { job_.reset(); }
  RunReport report(const std::exception* problem = nullptr) const { return job_->report(problem); }
  const RunReport::Node& node(const RunReport& report, const std::string& id) const;

  // The outputs by name.
  std::map<std::string, std::string> outputs() const;
  std::string out_directory() const { return directory_ / "out"; }

 private:
  temporary_directory directory_;
  std::atomic<bool> stop_{false};
  std::unique_ptr<exec::job> job_;
};

// The results of a job's reduce nodes, "node.name".
std::map<std::string, std::string> results_of(const RunReport& report);

// One thread in a fixed order and several, with and without scratch; the last with tiny batches.
std::vector<job_place> different_places();
// The outputs of a job, which must be the same in all of them; empty after a failure.
std::map<std::string, std::string> outputs_everywhere(const std::string& nodes);
// Everything on scratch, in small batches: for jobs whose disks fail or are slow.
job_place scratch_place(bool plain);

}  // namespace flowrun::exec
