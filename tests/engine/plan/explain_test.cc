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
  EXPECT_EQ(explain_text(g, made.plan), "");
}

TEST(Explain, JsonIsTheMessage) {
  const toy_operators toys;
  const graph g = good_graph(toys, job);
  const plan_result made = make_plan(g, machine_with(64 * MiB));
  const nlohmann::json json = nlohmann::json::parse(explain_json(g, made.plan));
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
  const graph g = good_graph(toys, "nodes:\n  a: {op: source}\n  s: {op: sort, in: a, with: {by: [x]}}\n  w: {op: sink, in: s, with: {path: o}}\n");
  const std::string text = explain_text(g, make_plan(g, machine_with(64 * MiB)).plan);
  EXPECT_THAT(text, HasSubstr("size unknown"));
  EXPECT_THAT(text, HasSubstr("rows unknown"));
  EXPECT_THAT(text, HasSubstr("scratch written  unknown"));
}

}  // namespace
}  // namespace flowrun::plan
