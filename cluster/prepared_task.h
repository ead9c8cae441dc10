// A worker's side of a task: what the driver has written down becomes a job, and what that job has written is told.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cluster/cluster.pb.h"
#include "cluster/input_files.h"
#include "cluster/shared_directory.h"
#include "engine/base/error.h"
#include "engine/exec/report.pb.h"
#include "engine/plan/graph.h"
#include "specs/job.pb.h"

namespace flowrun::cluster {

// This machine can't do the task: it doesn't see what the driver has made, or has another program. Another one may.
class unfit_machine : public error {
 public:
  using error::error;
};

class prepared_task {
 public:
  // `graph`: of the plan's job, checked here again. `number`: of the stage, as it runs. Throws error(bad_data) for a
  // plan that doesn't fit it, unfit_machine.
  prepared_task(shared_directory directory, std::shared_ptr<const plan::graph> graph, size_t number, size_t task);

  // The job of the task. Its files have names of this attempt.
  const specs::JobSpec& job() const { return job_; }
  // What its expressions name beside columns, inside of a loop or a graph that is called.
  const std::vector<expr::constant>& scalars() const { return scalars_; }
  // The input files that this job of the task reads are those that the driver found. Throws error(bad_data).
  void compare_inputs(const plan::graph& job) const { compare_input_files(plan_, job); }
  // The job has succeeded: the task is done, unless another attempt was first. Then what this one has written goes.
  void finish(const exec::RunReport& report, const std::vector<std::string>& warnings, const Progress& last);
  // About once a second: that the worker is at work, and how far it is. Never fails.
  void tell_alive(const Progress& now) noexcept;
  // Removes what the attempt has written.
  void remove();

  // The plan of the directory, by a driver of this version. Throws error(bad_data), unfit_machine.
  static specs::JobSpec planned_job(const shared_directory& directory, const std::string& version);

 private:
  struct output {
    std::string node;
    std::string path;
  };
  void must_see(const std::string& hidden, const std::string& output) const;
  // The driver has removed its directory: the job has ended.
  bool is_over() const;
  // An output makes the directories that it lacks. So a task that was frozen, or whose machine was cut off, while its
  // job ended has made anew what the driver had taken away. These go, unless another driver works there.
  void remove_abandoned() const;

  shared_directory directory_;
  Plan plan_;  // without its job
  size_t stage_, task_;
  std::string attempt_;
  std::vector<std::string> written_;
  std::vector<record::row_type> written_types_;
  std::vector<output> outputs_;
  specs::JobSpec job_;
  std::vector<expr::constant> scalars_;
};

}  // namespace flowrun::cluster
