// A graph of a job, as the driver runs it: the job's own, or a body of a control node, whose stages run again each
// time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/cluster.pb.h"
#include "cluster/cluster_report.h"
#include "cluster/driver.h"
#include "cluster/exchange_rows.h"
#include "cluster/output_folder.h"
#include "cluster/stage_progress.h"
#include "cluster/stage_structure.h"
#include "engine/exec/control_context.h"
#include "engine/record/batch_pool.h"

namespace flowrun::cluster {

// What a stage of a body has done in all iterations.
struct repeated_stage {
  std::vector<std::string> nodes;
  double seconds = 0;
  std::vector<finished_task> tasks;
};

// The stage whose tasks run; of a job that has failed, the one in which it has.
struct stage_at_work {
  std::shared_ptr<const plan::graph> graph;
  size_t stage = 0;  // of `graph`
  cluster::stage what;
  std::vector<std::string> nodes;
  std::chrono::steady_clock::time_point start;
  stage_progress progress;
};

// What the graphs of a job share.
struct job_run {
  const driver_settings& settings;
  scheduler& tasks;
  const driver_listener& listener;
  const std::atomic<bool>& stop;
  exec::RunReport report;
  unread_files unread = {};
  std::map<std::string, std::vector<output_part>> parts = {};              // by sink, in the order of the tasks
  std::set<std::string> told = {};                                         // warnings
  size_t num_begun = 0;                                                    // stages: the number of the next one
  size_t num_given = 0;                                                    // files of rows that stand in the job
  size_t stage = 0;                                                        // of the job itself, at work
  std::vector<std::string> activities = {};                                // of control nodes at work, outermost first
  uint64_t rows = 0, bytes_read = 0;                                       // of the stages that have ended
  size_t num_tasks = 0;                                                    // the same
  std::map<std::pair<std::string, size_t>, repeated_stage> repeated = {};  // by graph and stage
  std::map<const plan::graph*, exec::call_stack> calls = {};
  record::batch_pool pool{};
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::vector<stage_time> times = {};  // of the job's own stages, as far as they have begun
  size_t num_run = 0;                  // tasks that no earlier process has done
  std::optional<stage_at_work> at_work = {};

  double seconds() const;  // since the start
  // The report with what tasks at work have counted. `ended`: the job has, in whatever way.
  exec::RunReport report_now(bool ended) const;
};

class graph_run {
 public:
  // `place`: from the job's graph to this one. `job` outlives it.
  graph_run(job_run& job, divided_job divided, std::vector<StageTasks::Step> place);

  // Rows of a stream from outside of a body.
  void give(const std::string& stream, std::shared_ptr<const exchange_rows> rows);
  void carry_out();
  // The rows that leave the body at this node.
  std::shared_ptr<const exchange_rows> rows_of(const plan::node& result) const;

 private:
  friend class control_run;
  struct written_stream {
    std::shared_ptr<const exchange_rows> rows;
    std::optional<size_t> last_reader;  // the last stage that reads it
    bool leaves = false;                // the body
  };

  const plan::node& at(int n) const { return graph_.nodes[static_cast<size_t>(n)]; }
  bool is_body() const { return !place_.empty(); }
  std::string full_name(const std::string& id) const { return graph_.path.empty() ? id : graph_.path + "." + id; }
  const std::shared_ptr<const exchange_rows>& rows_of_input(const plan::node& n, size_t input) const;

  void run_stage(size_t s);
  bool is_worth_stages(size_t s) const;
  void run_control(const plan::node& n);
  void run_tasks(size_t s);
  static void check_there(const std::vector<std::string>& paths);
  void let_go(size_t s);
  uint64_t num_bytes_read(const stage& st) const;

  StageTasks tasks_of(size_t s) const;
  void set_bounds(const stage& st, size_t num_tasks, StageTasks& out) const;
  Done done_of(size_t s, size_t number, size_t task) const;
  std::vector<std::string> names_of(size_t s) const;
  void take(size_t s, const Done& done);
  void report_stage(size_t s, size_t number, size_t num_tasks, double seconds);
  void warn(const std::string& warning) const;  // once
  void warn_of_skew(size_t s, const std::vector<finished_task>& tasks) const;
  std::string kept_together_in(size_t s) const;
  void tell() const;

  job_run& job_;
  const divided_job divided_;
  const plan::graph& graph_;
  const stages& cut_;
  const std::vector<StageTasks::Step> place_;
  std::map<stream, written_stream> streams_;
};

}  // namespace flowrun::cluster
