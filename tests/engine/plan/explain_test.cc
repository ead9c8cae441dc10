#include "engine/plan/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/base/units.h"
#include "engine/plan/plan_message.h"
#include "tests/engine/plan/toy_operators.h"

namespace flowrun::plan {
namespace {

using ::testing::HasSubstr;

constexpr const char* job = R"(name: demo
nodes:
  a: {op: source, with: {rows: 40000000, sorted_by: [x]}}
  f: {op: filter, in: a, with: {where: "x < y"}}
  s: {op: sort, in: f, with: {by: [-y]}}
  e: {op: sort, in: a, with: {by: [x]}}
  j: {op: join, in: {left: e, right: a}, with: {by: [x]}}
  w: {op: sink, in: s, with: {path: o}}
  v: {op: sink, in: j, with: {path: p}}
)";

TEST(Explain, Text) {
  const toy_operators toys;
  const graph g = good_graph(toys, job);
  const plan_result made = make_plan(g, machine_with(64 * MiB));
  ASSERT_TRUE(made.faults.empty());
  EXPECT_EQ(explain_text(g, made.plan), R"y(plan of demo: 2 phases, memory 64.0 MiB, 2 threads, batches of 256 KiB

phase 1: 61.0 MiB for nodes and queues, 3.00 MiB for batches in flight
  a
    ├─▶ f ─▶ s (create)
    ├─▶ e ─▶ [spilling queue j.left]
    └─▶ [spilling queue j.right]
  j ─▶ v
    a  source         {x: u64, y: u64}  by x  40,000,000 rows, 610 MiB
    f  filter         {x: u64, y: u64}  by x  at most 40,000,000 rows, 610 MiB
    s  sort (create)                                                            memory 39.5 MiB, may keep 19.8 MiB
    e  sort (elided)  {x: u64, y: u64}  by x  40,000,000 rows, 610 MiB
    j  join           {x: u64, y: u64}  by x  at most 40,000,000 rows, 610 MiB  memory 1.00 MiB
    v  sink

phase 2: 42.8 MiB for nodes and queues, 1.50 MiB for batches in flight, 19.8 MiB held from earlier phases
  s (merge) ─▶ w
    s  sort (merge)  {x: u64, y: u64}  by -y  at most 40,000,000 rows, 610 MiB  memory 42.8 MiB
    w  sink

sorts
  s  at most 610 MiB in 34 runs of 18.0 MiB, 1 merge pass of fan-in 35, blocks of 512 KiB, scratch 612 MiB written and 612 MiB read
     buffers: 9 blocks to write, 64 to read (34 for the runs, 30 ahead); 8 in flight per disk

spilling queues
  e ─▶ j.left   memory 10.2 MiB  branches of 'a' meet again at 'j' and can't run in step
  a ─▶ j.right  memory 10.2 MiB  branches of 'a' meet again at 'j' and can't run in step

notes
  'e' does not sort: its input is sorted by x already

predicted
  input            0 B
  scratch written  at most 1.80 GiB
  scratch read     at most 1.80 GiB
  peak scratch     at most 1.80 GiB
  output           at most 1.19 GiB
  peak memory      at most 64.0 MiB, beside the program itself
)y");
}

TEST(Explain, JsonIsTheMessage) {
  const toy_operators toys;
  const graph g = good_graph(toys, job);
  const plan_result made = make_plan(g, machine_with(64 * MiB));
  const nlohmann::json json = nlohmann::json::parse(explain_json(to_proto(g, made.plan)));
  EXPECT_EQ(json["job"], "demo");
  EXPECT_EQ(json["nodes"].size(), 7u);
  EXPECT_EQ(json["phases"].size(), made.plan.phases.size());
  EXPECT_EQ(json["queues"][0]["spilling"], true);
  EXPECT_EQ(json["machine"]["memory_bytes"], std::to_string(64 * MiB));
  const PhysicalPlan message = to_proto(g, made.plan);
  EXPECT_EQ(message.nodes(0).outputs(0).columns(1).name(), "y");
  EXPECT_EQ(message.nodes(0).outputs(0).sorted_by(0).column(), "x");
  ASSERT_EQ(message.sorts_size(), 1);
  EXPECT_EQ(message.nodes(static_cast<int>(message.sorts(0).node())).id(), "s");
  EXPECT_EQ(message.predicted().scratch_written_bytes(), made.plan.predicted_scratch_written);
}

TEST(Explain, Dot) {
  const toy_operators toys;
  const graph g = good_graph(toys, job);
  const std::string dot = explain_dot(g, make_plan(g, machine_with(64 * MiB)).plan);
  EXPECT_THAT(dot, HasSubstr("subgraph cluster_1"));
  EXPECT_THAT(dot, HasSubstr("s (create)\\nsort"));
  EXPECT_THAT(dot, HasSubstr("sorted runs"));
  EXPECT_THAT(dot, HasSubstr("spilling queue"));
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '{'), std::count(dot.begin(), dot.end(), '}'));
}

TEST(Explain, UnknownSizes) {
  const toy_operators toys;
  const graph g = good_graph(
      toys,
      "nodes:\n  a: {op: source}\n  s: {op: sort, in: a, with: {by: [x]}}\n  w: {op: sink, in: s, with: {path: o}}\n");
  const std::string text = explain_text(g, make_plan(g, machine_with(64 * MiB)).plan);
  EXPECT_THAT(text, HasSubstr("size unknown"));
  EXPECT_THAT(text, HasSubstr("rows unknown"));
  EXPECT_THAT(text, HasSubstr("scratch written  unknown"));
}

}  // namespace
}  // namespace flowrun::plan
