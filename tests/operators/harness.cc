#include "tests/operators/harness.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/operators/text_operators.h"
#include "tests/support/job_rig.h"

namespace flowrun::operators::testing {

namespace {

constexpr uint32_t block_bytes = 4096;

std::string indented(const std::string& nodes) {
  std::string out;
  for (size_t from = 0; from < nodes.size();) {
    const size_t end = std::min(nodes.find('\n', from), nodes.size());
    out += "  " + nodes.substr(from, end - from) + "\n";
    from = end + 1;
  }
  return out;
}

plan::check_result check_nodes(const std::string& nodes, const std::string& more = {}) {
  static const text_operators text;  // the graph points to them
  plan::check_result out = exec::check_text("flowrun: 1\nnodes:\n" + indented(nodes) + more, text.definitions());
  // Two lines and two columns stand before the nodes' own text.
  for (fault& f : out.faults) {
    f.where.line -= 2;
    f.where.column -= 2;
  }
  return out;
}

// So much for each part of each node, however little the planner thinks that is.
void give_each(uint64_t num_bytes, const plan::graph& g, plan::physical_plan& plan) {
  for (plan::memory_share& share : plan.shares) {
    const bool breaks = g.nodes[static_cast<size_t>(share.node)].role() == plan::operator_role::breaker;
    share.given = num_bytes;
    share.kept_bytes = breaks ? num_bytes / 2 : num_bytes;
  }
  const sizes::half_budget half{.memory_bytes = num_bytes, .block_bytes = block_bytes};
  for (plan::sort_prediction& sort : plan.sorts) {
    sort.creator = sizes::divide_creator(half, num_bytes);
    sort.merger = sizes::divide_merger(half);
  }
}

exec::job_place place_of(const run_options& options, const text_operators& text) {
  exec::job_place place;
  place.plain = options.threads == 1;
  place.threads = options.threads;
  place.backend = options.backend;
  place.direct = options.direct;
  place.force_spill = options.force_spill;
  if (options.least_budget) place.memory_bytes = 0;
  place.batch_bytes = options.batch_bytes;
  place.block_bytes = block_bytes;
  place.more_operators = text.definitions();
  if (options.memory_bytes)
    place.change_plan = [&options](const plan::graph& g, plan::physical_plan& plan) {
      give_each(*options.memory_bytes, g, plan);
    };
  return place;
}

}  // namespace

run_result run(const std::string& nodes, const std::map<std::string, rows>& inputs, const run_options& options) {
  const text_operators text(inputs, options.seed, options.most_rows);
  exec::job_rig rig(indented(nodes), place_of(options, text));
  rig.run_or_throw();
  run_result result;
  result.values = exec::results_of(rig.report());
  for (size_t i = 0; i < rig.job().graph().nodes.size(); ++i) {
    const exec::node_counters& c = rig.job().counters(i);
    result.file_read_bytes += c.file_read_bytes;
    result.file_total_bytes += c.file_total_bytes;
    result.file_written_bytes += c.file_written_bytes;
    result.rejected_rows += c.rejected_rows;
  }
  result.sinks = text.sinks();
  return result;
}

rows run_all_ways(const std::string& nodes, const std::map<std::string, rows>& inputs) {
  const rows first = run(nodes, inputs).sinks["out"];
  const run_options others[] = {
      {.seed = 2, .most_rows = 1, .batch_bytes = 1},
      {.seed = 3, .most_rows = 3, .batch_bytes = 64, .memory_bytes = 1 << 20},
      {.seed = 4, .most_rows = 17, .batch_bytes = 500, .least_budget = true},
      {.seed = 5, .most_rows = 100000, .batch_bytes = 1 << 18},
      {.seed = 6, .most_rows = 5000, .batch_bytes = 5000, .memory_bytes = 1 << 20, .force_spill = true},
      {.seed = 7, .most_rows = 50, .batch_bytes = 1000, .force_spill = true, .threads = 3},
  };
  for (const run_options& o : others) EXPECT_EQ(run(nodes, inputs, o).sinks["out"], first) << "seed " << o.seed;
  return first;
}

std::vector<std::string> faults_of(const std::string& nodes, const std::string& more) {
  std::vector<std::string> out;
  for (const fault& f : check_nodes(nodes, more).faults) out.push_back(exec::fault_text(f));
  return out;
}

std::string output_of(const std::string& nodes, const std::string& node, size_t port) {
  const plan::check_result job = check_nodes(nodes);
  for (const fault& f : job.faults) return exec::fault_text(f);
  const plan::output_port& output = job.checked.find(node)->outputs[port];
  return to_string(output.type) + " by " + plan::to_string(output.sorted_by);
}

}  // namespace flowrun::operators::testing
