// A handful of small operators, enough to draw any graph that the planner must decide about; no code behind them runs.
//
//   source  {rows, type, sorted_by, path}      sink {path}          tee: split {ports: {name: condition}}
//   map {column: expression}   filter {where}  number {behind}      (number keeps the row count and may hold rows back)
//   sort {by, memory, limit}   join {by} left right   zip a b       concat [..]   count (output optional)
//   lookup in table: the table is stored          hold {any: a, names: b}: all are stored, as vectors
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/plan/file_rules.h"
#include "engine/plan/physical_plan.h"

namespace flowrun::plan {

class toy_operators {
 public:
  toy_operators();
  const vocabulary& catalog() const { return catalog_; }

 private:
  std::vector<std::unique_ptr<operator_declaration>> declarations_;
  vocabulary catalog_;
};

// Reads and checks a job "nodes: …" (the version line is added in front, so nodes: is line 2). `files` are sizes by
// path.
check_result check_job(const toy_operators& toys, const std::string& nodes,
                       const std::map<std::string, int64_t>& files = {}, const outer_files& others = {});

// The same, and expects no faults.
graph good_graph(const toy_operators& toys, const std::string& nodes, const std::map<std::string, int64_t>& files = {});

// "2:9 message" for each fault, by position.
std::vector<std::string> short_faults(const std::vector<fault>& faults);

// A machine with so much memory and 2 threads.
machine machine_with(uint64_t memory_bytes);

}  // namespace flowrun::plan
