// A loop, an `if` or a call that the driver runs: each run of a body is a run of its stages, and rows lie in the files
// that their tasks have written.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/exchange_rows.h"
#include "engine/exec/control_context.h"

namespace flowrun::cluster {

class graph_run;
struct job_run;

// Whether the node's graph may name the depth of its calls, which a task doesn't know.
bool counts_calls(const plan::graph& g, const plan::node& n);

class control_run final : public exec::control_context {
 public:
  control_run(graph_run& around, const plan::node& n);
  ~control_run() override;

  // What it gives on, by output.
  std::vector<std::shared_ptr<const exchange_rows>> finish();

  record::batch_pool& pool() override;
  std::shared_ptr<exec::held_rows> make_rows(const record::row_type& type, const plan::order& sorted_by) override;
  void append(exec::held_rows& to, record::batch rows) override;
  void append_all(exec::held_rows& to, const exec::held_rows& from) override;
  void finish(exec::held_rows& rows) override;
  std::vector<std::byte> first_of(const exec::held_rows& rows) override;
  void run_body(size_t i, exec::body_streams& streams, const std::vector<uint64_t>& scalars) override;
  void note(const std::string& what) override;
  void count_iteration() override;
  void report_value(const std::string& name, const std::string& value) override;

 private:
  graph_run& around_;
  job_run& job_;
  const size_t level_;
};

}  // namespace flowrun::cluster
