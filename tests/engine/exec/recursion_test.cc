// Graphs that call themselves many levels deep: memory of the frames that wait, and ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/plan/control_memory.h"
#include "engine/plan/explain.h"
#include "tests/support/job_rig.h"

namespace flowrun::exec {
namespace {

using ::testing::HasSubstr;

// Each level leaves the rows of one residue modulo 40 behind, and waits with all that it was given for what comes back.
constexpr const char* peeling = R"yaml(
  rows:   {op: generate, with: {rows: @ROWS, columns: {x: "rand(1, i)"}}}
  peeled: {op: call, in: rows, with: {graph: peel}}
  wrong:  {op: filter, in: peeled, with: {where: "n != x % 40 + 1"}}
  counts: {op: reduce, in: peeled, with: {let: {rows: "count()"}}}
  none:   {op: reduce, in: wrong, with: {let: {rows: "count()"}}}
graphs:
  peel:
    in: {rows: {x: u64}}
    out: {out: {from: seen, type: {x: u64, n: u64}}}
    scalars: {least: {type: int, default: 0}}
    nodes:
      ordered: {op: sort, in: rows, with: {by: [x]}}
      less:    {op: filter, in: ordered, with: {where: "x % 40 > least"}}
      mixed:   {op: shuffle, in: less}
      copy:    {op: map, in: ordered, with: {x: x}}
      both:
        op: if
        in: {mixed: mixed, copy: copy}
        with:
          condition: "rows(mixed) > 0"
          then:
            deeper: {op: call, in: {rows: mixed}, with: {graph: peel, least: "least + 1"}}
            by_x:   {op: sort, in: deeper, with: {by: [x]}}
            same:   {op: join, in: {left: copy, right: by_x}, with: {by: [x], kind: left}}
            out:    {op: map, in: same, with: {x: x, n: n}}
          else:
            out:    {op: map, in: copy, with: {x: x, n: "u64(0)"}}
          out: {out: out}
      joined:  {op: join, in: {left: ordered, right: both.out}, with: {by: [x]}}
      seen:    {op: map, in: joined, with: {x: x, n: "n + 1"}}
)yaml";

std::string peeling_of(uint64_t num_rows) {
  std::string text = peeling;
  return text.replace(text.find("@ROWS"), 5, std::to_string(num_rows));
}

job_place place_with(uint64_t memory_bytes) {
  job_place place;
  place.memory_bytes = memory_bytes;
  return place;
}

// Forty frames, of two control nodes and four streams each, in a budget a few times that of one of them. The streams of
// all frames come to 40 MB; in batches, and so in memory but for the sorts', there is hardly any of that.
TEST(recursion, goes_deep_in_a_small_budget) {
  for (const bool plain : {false, true}) {
    job_place place = place_with(20 * MiB);
    place.plain = plain;
    job_rig rig(peeling_of(60'000), place);
    uint64_t most_in_batches = 0;
    const auto look = [&] { most_in_batches = std::max(most_in_batches, rig.job().batch_bytes_held()); };
    const std::unique_ptr<error> problem = rig.run(look);
    ASSERT_EQ(problem, nullptr) << problem->what();
    const auto results = results_of(rig.report());
    EXPECT_EQ(results.at("counts.rows"), "60000");
    EXPECT_EQ(results.at("none.rows"), "0");
    EXPECT_THAT(results.at("peeled.both.then.deeper.depth"), HasSubstr("39, "));
    EXPECT_LT(most_in_batches, 12 * MiB);
  }
}

TEST(recursion, says_how_little_memory_is_left) {
  job_rig rig(peeling_of(400'000), place_with(8 * MiB));
  const std::unique_ptr<error> problem = rig.run();
  ASSERT_NE(problem, nullptr);
  EXPECT_EQ(problem->kind(), error_kind::resources);
  EXPECT_THAT(problem->what(), HasSubstr(" of the memory are left for the nodes inside of 'peeled"));
  EXPECT_THAT(problem->hint(), HasSubstr("each level of a recursion"));
}

TEST(recursion, small_rows_stay_in_memory_all_the_way_down) {
  job_rig rig(peeling_of(1000), place_with(64 * MiB));
  ASSERT_EQ(rig.run(), nullptr);
  EXPECT_EQ(results_of(rig.report()).at("none.rows"), "0");
  EXPECT_EQ(rig.report().actual().scratch_written_bytes(), 0U);
}

// Level by level, as exec does it: what control nodes hand down stays most of the memory.
TEST(recursion, most_of_the_memory_goes_down) {
  job_rig rig(peeling_of(200'000), place_with(256 * MiB));
  const plan::graph& outer = rig.job().graph();
  const plan::node& first = *outer.find("peeled");
  const plan::graph& peel = *first.bodies.at(0);
  const plan::node& branch = *peel.find("both");
  const plan::graph& then = *branch.bodies.at(0);
  const auto body_bytes = [](const plan::graph& g, const plan::node& n, const plan::machine& resources) {
    const plan::plan_result planned = plan::make_plan(g, resources);
    EXPECT_TRUE(planned.faults.empty());
    const uint64_t share = planned.plan.share_of(static_cast<int>(&n - g.nodes.data()), plan::node_part::work);
    return plan::divide_control_memory(n, resources, share).body_bytes;
  };
  EXPECT_THAT(plan::explain_text(outer, rig.job().plan()),
              HasSubstr("'deeper' calls the graph that it is in: with 248 MiB"));
  plan::machine resources = rig.job().plan().resources;
  for (int depth = 0; depth < 10; ++depth) {
    const uint64_t before = resources.memory_bytes;
    resources.memory_bytes = body_bytes(peel, branch, resources);
    resources.memory_bytes = body_bytes(then, *then.find("deeper"), resources);
    EXPECT_LT(resources.memory_bytes, before);
  }
  EXPECT_GT(resources.memory_bytes, 192 * MiB);
}

std::string endless(const std::string& next, const std::string& with) {
  return R"yaml(
  rows: {op: generate, with: {rows: 1000, columns: {x: i}}}
  all:  {op: call, in: rows, with: {graph: again}}
  n:    {op: reduce, in: all, with: {let: {n: "count()"}}}
graphs:
  again:
    in: {rows: {x: u64}}
    out: {out: {from: rest, type: {x: u64}}}
    scalars: {to_go: {type: int, default: 20}}
    nodes:
      less: )yaml" +
         next + R"yaml(
      rest: {op: call, in: {rows: less}, with: {graph: again, )yaml" +
         with + "}}\n";
}

TEST(recursion, of_the_same_rows_again_and_again_is_ended) {
  std::string text = endless("{op: filter, in: rows, with: {where: \"x < 700\"}}", "when: \"rows(rows) > 0\"");
  text.erase(text.find("    scalars:"), text.find("    nodes:") - text.find("    scalars:"));
  job_rig rig(text, place_with(64 * MiB));
  const std::unique_ptr<error> problem = rig.run();
  ASSERT_NE(problem, nullptr);
  EXPECT_EQ(problem->kind(), error_kind::bad_data);
  EXPECT_THAT(problem->what(),
              HasSubstr("'rest' calls 'again' again and again with as many rows (rows by level: …, 700, 700, "));
}

// As many rows each time, but a scalar that counts down.
TEST(recursion, may_count_instead_of_getting_smaller) {
  job_rig rig(endless("{op: map, in: rows, with: {x: \"x + 1\"}}", "when: \"to_go > 0\", to_go: \"to_go - 1\""),
              place_with(64 * MiB));
  const std::unique_ptr<error> problem = rig.run();
  EXPECT_EQ(problem, nullptr) << problem->what();
}

}  // namespace
}  // namespace flowrun::exec
