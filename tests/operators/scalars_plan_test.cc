// Nodes whose expressions name values of a row: in which phase they run, what waits in a queue, and what `plan` says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/units.h"
#include "engine/plan/explain.h"
#include "engine/plan/physical_plan.h"
#include "tests/support/checked_job.h"

namespace flowrun::operators {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string plan_of(const std::string& nodes) {
  const plan::graph g = exec::graph_of(
      "flowrun: 1\nnodes:\n  rows: {op: generate, with: {rows: 1000, columns: {x: i}}}\n"
      "  all: {op: reduce, in: rows, with: {let: {n: count(), most: max(x)}}}\n" +
      nodes);
  plan::machine machine;
  machine.memory_bytes = 64 * MiB;
  machine.threads = 2;
  const plan::plan_result made = plan::make_plan(g, machine);
  EXPECT_TRUE(made.faults.empty());
  EXPECT_LE(made.plan.predicted_peak_memory, machine.memory_bytes);
  EXPECT_THAT(plan::explain_dot(g, made.plan), HasSubstr("style=dashed"));
  return plan::explain_text(g, made.plan);
}

TEST(scalars_plan, rows_that_the_row_is_made_of_wait_in_a_queue) {
  const std::string text = plan_of(
      "  a: {op: filter, in: rows, scalars: all, with: {where: x > all.most / 2}}\n"
      "  out: {op: file.write_csv, in: a, with: {path: out.csv}}\n");
  EXPECT_THAT(text, HasSubstr("plan: 2 phases"));
  EXPECT_THAT(text, HasSubstr("├─▶ all ─▶ values of all\n    └─▶ [spilling queue a.in]"));
  EXPECT_THAT(text, HasSubstr("  a ─▶ out"));
  EXPECT_THAT(text, HasSubstr("'a' runs in phase 2, its producer in phase 1"));
  EXPECT_THAT(text, HasSubstr("'a' names values of the one row of 'all', and runs once they are known"));
}

TEST(scalars_plan, other_rows_flow_once_it_is_known) {
  const std::string text = plan_of(
      "  others: {op: generate, with: {rows: 1000, columns: {x: i}}}\n"
      "  a: {op: filter, in: others, scalars: all, with: {where: x > all.most / 2}}\n"
      "  b: {op: map, in: a, scalars: {again: all}, with: {x: x + again.n}}\n"
      "  out: {op: file.write_csv, in: b, with: {path: out.csv}}\n");
  EXPECT_THAT(text, HasSubstr("plan: 2 phases"));
  EXPECT_THAT(text, HasSubstr("  rows ─▶ all ─▶ values of all\n"));  // taken in once for both
  EXPECT_THAT(text, HasSubstr("  others ─▶ a ─▶ b ─▶ out\n"));
  EXPECT_THAT(text, Not(HasSubstr("spilling")));
}

TEST(scalars_plan, a_stage_waits_in_front_of_a_sort) {
  const std::string text = plan_of(
      "  a: {op: sort, in: rows, scalars: all, with: {by: [x * 7 % all.n]}}\n"
      "  out: {op: file.write_csv, in: a, with: {path: out.csv}}\n");
  EXPECT_THAT(text, HasSubstr("plan: 3 phases"));
  EXPECT_THAT(text, HasSubstr("└─▶ [spilling queue a (waits).in]"));
  EXPECT_THAT(text, HasSubstr("  a (waits) ─▶ a (create)\n"));
  EXPECT_THAT(text, HasSubstr("  a (merge) ─▶ out\n"));
  EXPECT_THAT(text, Not(HasSubstr("'a (waits)' names")));
}

TEST(scalars_plan, a_stage_waits_in_front_of_what_an_operator_stores) {
  const std::string text = plan_of(
      "  a: {op: partition, in: rows, scalars: all, with: {by: x * 5 / all.n, buckets: 5}}\n"
      "  out: {op: file.write_csv, in: a, with: {path: out.csv}}\n");
  EXPECT_THAT(text, HasSubstr("  a (waits) ─▶ a.in (store)\n"));
}

TEST(scalars_plan, a_node_of_several_streams_waits_too) {
  const std::string text = plan_of(
      "  others: {op: generate, with: {rows: 1000, columns: {x: i}}}\n"
      "  a: {op: merge, in: [rows, others], scalars: all, with: {less: \"a.x + all.n < b.x + all.n\"}}\n"
      "  out: {op: file.write_csv, in: a, with: {path: out.csv}}\n");
  EXPECT_THAT(text, HasSubstr("plan: 2 phases"));
  EXPECT_THAT(text, HasSubstr("[spilling queue a.1]"));
  EXPECT_THAT(text, HasSubstr("others ─▶ [queue a.2]"));
}

}  // namespace
}  // namespace flowrun::operators
