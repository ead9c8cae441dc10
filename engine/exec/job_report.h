// The run report: what was predicted beside what happened, node by node and disk by disk. Pure.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "engine/block/block_manager.h"
#include "engine/exec/graph_host.h"
#include "engine/exec/graph_runner.h"
#include "engine/exec/operator.h"
#include "engine/exec/report.pb.h"
#include "engine/exec/services.h"
#include "engine/io/joint_commit.h"
#include "engine/plan/graph.h"
#include "engine/plan/physical_plan.h"

namespace flowrun::exec {

struct reported_value {
  std::string node;
  std::string name;
  std::string value;
};

// Of the report as a document: raised when a field changes its meaning or goes. New fields leave it as it is.
inline constexpr uint32_t report_format = 1;

struct report_input {
  const plan::graph* graph = nullptr;
  const plan::physical_plan* plan = nullptr;
  std::vector<const graph_record*> records;  // the job's own graph first
  std::vector<block::disk_usage> disks;
  uint64_t peak_scratch_bytes = 0;
  double wall_seconds = 0;
  double cpu_seconds = 0;
  uint64_t start_ns = 0;  // as in `phases`; 0: it hasn't begun
  uint64_t now_ns = 0;    // the end, or the present of a job that runs
  int64_t start_us = 0;   // since 1970
  int64_t end_us = 0;     // 0: it runs
  std::vector<phase_time> phases;
  std::string io_backend;
  unsigned usable_cores = 1;  // of the machine, for what would make the run faster
  uint64_t usable_memory = 0;
  bool succeeded = false;
  const std::exception* problem = nullptr;
  std::vector<reported_value> results;
  std::vector<io::output_result> outputs;
};

RunReport make_report(const report_input& in);

// Which node has written an output, and what lies in it, so that the report alone is enough to read it.
void describe_output(const plan::graph& graph, const plan::node& sink, RunReport::Output& out);

// As reports tell a time: `us` since 1970.
std::string report_time(int64_t us);

// For people, with the job's results first: about 20 lines.
std::string report_text(const RunReport& report);
std::string report_json(const RunReport& report);

}  // namespace flowrun::exec
