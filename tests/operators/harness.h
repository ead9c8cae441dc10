// Runs small jobs through the operators' own parts, node after node on one thread, without the executor.
//
// A job is the YAML of its nodes. Two operators exist here only: `test.rows {type, sorted_by}`, a source whose rows the
// test gives, and `test.sink`, whose rows the test reads. Rows are text: cells separated by commas, "1,-2,abc,true".
// Between nodes the batches are cut anew at random places, and inputs of meeting nodes are now and then blocked, so
// that a test run with several seeds sees many batch boundaries.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/record/batch.h"

namespace flowrun::operators::testing {

using rows = std::vector<std::string>;

struct run_options {
  uint64_t seed = 1;
  size_t most_rows = 1000;          // in a batch that a node is given
  size_t batch_bytes = 64 * 1024;   // what nodes are told to aim for
  uint64_t memory_bytes = 1 << 20;  // of each node
  bool force_spill = false;         // stored rows go to scratch: blocks of 4 KiB
};

struct run_result {
  std::map<std::string, rows> sinks;          // by node
  std::map<std::string, std::string> values;  // "node.name" as reported
};

// Throws flowrun::error as the operators do. A job with faults fails the test.
run_result run(const std::string& nodes, const std::map<std::string, rows>& inputs, const run_options& options = {});

// The same with several seeds and sizes of batches; all results must be equal. Returns the rows of the sink `out`.
rows run_all_ways(const std::string& nodes, const std::map<std::string, rows>& inputs);

// "line:column: message (expected: …) (help: …)" for each fault. Line 1 is the first line of `nodes`.
// `more`: text behind the nodes ("graphs: …").
std::vector<std::string> faults_of(const std::string& nodes, const std::string& more = {});

// The row type and order of a node's output: "{a: u64} by a".
std::string output_of(const std::string& nodes, const std::string& node, size_t port = 0);

// Rows as a batch and back.
record::batch to_batch(const record::row_type& type, const rows& text, record::batch_pool& pool);
void append_text(const record::row_type& type, const record::batch& batch, rows& out);

}  // namespace flowrun::operators::testing
