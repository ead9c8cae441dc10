// Plans of jobs with graphs inside of nodes: they are planned with them, shown with them, and need their memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/units.h"
#include "engine/plan/explain.h"
#include "engine/plan/physical_plan.h"
#include "engine/plan/plan_message.h"
#include "tests/support/checked_job.h"

namespace flowrun::operators {
namespace {

using exec::graph_of;
using ::testing::HasSubstr;

constexpr const char* job = R"yaml(flowrun: 1
nodes:
  numbers: {op: generate, with: {rows: 1000, columns: {x: i}}}
  outer:
    op: loop
    in: {numbers: numbers}
    with:
      carry: {cur: {from: numbers}}
      body:
        more:  {op: concat, in: [cur, numbers]}
        inner:
          op: loop
          in: {more: more}
          with:
            carry: {rows: {from: more}}
            body: {back: {op: sort, in: rows, with: {by: [-x]}}, forth: {op: sort, in: back, with: {by: [x]}}}
            next: {rows: forth}
            times: 2
      next: {cur: inner.rows}
      times: 3
  write: {op: file.write_rows, in: outer.cur, with: {path: out.bin}}
)yaml";

plan::machine machine_with(uint64_t memory_bytes) {
  plan::machine out;
  out.memory_bytes = memory_bytes;
  out.threads = 2;
  return out;
}

TEST(control_plan, shows_what_is_inside) {
  const plan::graph g = graph_of(job);
  const plan::plan_result made = plan::make_plan(g, machine_with(64 * MiB));
  ASSERT_TRUE(made.faults.empty());
  const std::string text = plan::explain_text(g, made.plan);
  EXPECT_THAT(text, HasSubstr("outer at work"));
  EXPECT_THAT(text, HasSubstr("numbers ─▶ outer.numbers (store)"));
  EXPECT_THAT(text, HasSubstr("inside of 'outer', each time it runs"));
  EXPECT_THAT(text, HasSubstr("  │ inside of 'inner', each time it runs"));
  EXPECT_THAT(text, HasSubstr("  │   │   back (merge) ─▶ forth (create)"));
  const std::string dot = plan::explain_dot(g, made.plan);
  EXPECT_THAT(dot, HasSubstr("inside of outer.inner"));
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '{'), std::count(dot.begin(), dot.end(), '}'));
  const plan::PhysicalPlan message = plan::to_proto(g, made.plan);
  ASSERT_EQ(message.bodies_size(), 1);
  EXPECT_EQ(message.bodies(0).path(), "outer");
  ASSERT_EQ(message.bodies(0).plan().bodies_size(), 1);
  EXPECT_EQ(message.bodies(0).plan().bodies(0).path(), "outer.inner");
  EXPECT_FALSE(made.plan.prediction_known);
}

// What a loop seeks in has memory for the part that it is at; what it reads from one end to the other has less.
TEST(control_plan, what_is_sought_again_has_more_memory) {
  const auto kept = [](const std::string& skip, uint64_t num_rows) {
    const plan::graph g =
        graph_of("flowrun: 1\nnodes:\n  all: {op: generate, with: {rows: " + std::to_string(num_rows) +
                 ", columns: {x: i}}}\n" + R"yaml(
  rounds:
    op: loop
    in: {all: all}
    with:
      carry: {some: {rows: [{x: 1}], type: {x: u64}}}
      body: {found: {op: join, in: {left: some, right: all}, with: {by: [x], skip: )yaml" +
                 skip + R"yaml(}}}
      next: {some: found}
      times: 3
  write: {op: file.write_rows, in: rounds.some, with: {path: out.bin}}
)yaml");
    const plan::plan_result made = plan::make_plan(g, machine_with(256 * MiB));
    EXPECT_TRUE(made.faults.empty());
    const auto loop =
        std::find_if(g.nodes.begin(), g.nodes.end(), [](const plan::node& n) { return n.id == "rounds"; });
    return std::pair(made.plan.kept_of(static_cast<int>(loop - g.nodes.begin()), 0), made.plan.predicted_peak_scratch);
  };
  constexpr uint64_t rows = 128 * MiB / 8;
  EXPECT_EQ(kept("true", rows).first, 32 * MiB);
  EXPECT_EQ(kept("false", rows).first, 16 * MiB);
  // All of it, or what does not stay beside four write buffers, the index and a piece that goes as a whole. Blocks take
  // at most 1/64 and 1 MiB beside their rows, and three are allocated ahead: of 64 KiB, or of 1 MiB.
  EXPECT_EQ(kept("true", rows).second, 128 * MiB + 2 * MiB + MiB + 3 * 64 * KiB);
  constexpr uint64_t written = 128 * MiB - (16 * MiB - 4 * MiB - MiB - 256 * KiB);
  EXPECT_EQ(kept("false", rows).second, written + written / 64 + MiB + 3 * MiB);
  EXPECT_EQ(kept("true", rows / 8).second, 0U);
}

// The least budget is enough for all that is nested, and a little less is a fault before the run.
TEST(control_plan, budget_is_for_everything_inside) {
  const plan::graph g = graph_of(job);
  const uint64_t least = plan::least_memory(g, machine_with(0));
  EXPECT_GT(least, plan::least_memory(*g.find("outer")->bodies[0], machine_with(0)));
  const plan::plan_result made = plan::make_plan(g, machine_with(least));
  ASSERT_TRUE(made.faults.empty());
  const auto fits = [](const plan::physical_plan& p) {
    for (const plan::phase& x : p.phases)
      EXPECT_LE(x.memory_bytes + x.batches_bytes + x.held_bytes, p.resources.memory_bytes);
  };
  fits(made.plan);
  const plan::physical_plan& outer = *made.plan.bodies.at(0).plan;
  fits(outer);
  fits(*outer.bodies.at(0).plan);
  EXPECT_LT(outer.resources.memory_bytes, least);
  const plan::plan_result tight = plan::make_plan(g, machine_with(least - 1));
  ASSERT_EQ(tight.faults.size(), 1U);
  EXPECT_THAT(tight.faults[0].expected, HasSubstr("outer (loop)"));
}

// What one iteration reads is there already: branches that start with a stream read it twice, and no queue spills.
TEST(control_plan, streams_have_a_reader_for_each_branch) {
  const plan::graph g = graph_of(R"yaml(flowrun: 1
nodes:
  l:
    op: loop
    with:
      carry: {cur: {rows: [{x: 1}], type: {x: u64}}}
      body:
        back:  {op: sort, in: cur, with: {by: [-x]}}
        forth: {op: sort, in: back, with: {by: [x]}}
        both:  {op: join, in: {left: cur, right: forth}, with: {by: [x]}}
      next: {cur: both}
      times: 3
  write: {op: file.write_rows, in: l.cur, with: {path: out.bin}}
)yaml");
  const plan::plan_result made = plan::make_plan(g, machine_with(64 * MiB));
  ASSERT_TRUE(made.faults.empty());
  for (const plan::queue& q : made.plan.bodies.at(0).plan->queues) EXPECT_EQ(q.kind, plan::queue_kind::bounded);
}

}  // namespace
}  // namespace flowrun::operators
