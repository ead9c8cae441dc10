// Runs small jobs: their YAML is read, checked and planned, and they run in real pipelines.
//
// A job is the YAML of its nodes, an entry a line. `test.rows` and `test.sink` (text_operators.h) connect it with the
// test, as text. They cut batches at random places and are blocked now and then, so that a test run with several seeds
// sees many batch boundaries.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/io/request.h"
#include "tests/operators/text_rows.h"

namespace flowrun::operators::testing {

struct run_options {
  uint64_t seed = 1;
  size_t most_rows = 1000;                    // in a batch of `test.rows`
  size_t batch_bytes = 64 * 1024;             // what nodes aim for
  std::optional<uint64_t> memory_bytes = {};  // of each part of each node, instead of what was planned
  bool least_budget = false;                  // for the plan: what the planner accepts
  bool force_spill = false;
  unsigned threads = 1;  // 1: one after another, in a fixed order
  io::backend_kind backend = io::backend_kind::memory;
  bool direct = false;
};

struct run_result {
  std::map<std::string, rows> sinks;          // by node
  std::map<std::string, std::string> values;  // "node.name" as reported
  // Of all nodes together.
  uint64_t file_read_bytes = 0;
  uint64_t file_total_bytes = 0;
  uint64_t file_written_bytes = 0;
  uint64_t rejected_rows = 0;
};

// Throws flowrun::error as the job does. A job with faults fails the test.
run_result run(const std::string& nodes, const std::map<std::string, rows>& inputs, const run_options& options = {});

// The same with several seeds, sizes of batches, memories and threads; all results must be equal. Returns the rows of
// the sink `out`.
rows run_all_ways(const std::string& nodes, const std::map<std::string, rows>& inputs);

// "line:column: message (expected: …) (help: …)" for each fault. Line 1 is the first line of `nodes`.
// `more`: text behind the nodes ("graphs: …").
std::vector<std::string> faults_of(const std::string& nodes, const std::string& more = {});

// The row type and order of a node's output: "{a: u64} by a".
std::string output_of(const std::string& nodes, const std::string& node, size_t port = 0);

}  // namespace flowrun::operators::testing
