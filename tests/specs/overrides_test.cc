#include "specs/overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/specs/reading.h"

namespace flowrun::specs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string job =
    "flowrun: 1\nparams: {n: {type: int, default: 3}}\nresources: {memory: 1GiB, scratch: [/a]}\n"
    "nodes:\n  a: {op: x, with: {limit: 5, by: [s]}}\n  b: {op: y, in: a}\n";

const Value* with(const read_result& result, const char* key) { return find(result.job.nodes(0).with(), key); }

TEST(overrides, replace_and_add) {
  const read_result result = read_job(job, "job.yaml", {},
                                      {{"nodes.a.with.limit", "7"},
                                       {"nodes.a.with.where", "x[1] > 5, y"},
                                       {"nodes.a.with.by", "[t, \"u\"]"},
                                       {"resources.memory", "2GiB"},
                                       {"resources.scratch.0", "/b"},
                                       {"resources.scratch.1", "{path: /c}"},
                                       {"nodes.b.in", "a.rest"}});
  ASSERT_THAT(testing::faults_of(result), ElementsAre());
  EXPECT_EQ(to_uint(*with(result, "limit")), 7u);
  EXPECT_EQ(text(*with(result, "where")), "x[1] > 5, y");
  EXPECT_EQ(text(with(result, "by")->list().items(1)), "u");
  EXPECT_EQ(result.job.resources().memory_bytes(), uint64_t{2} << 30);
  EXPECT_EQ(result.job.resources().scratch(0).path(), "/b");
  EXPECT_EQ(result.job.resources().scratch(1).path(), "/c");
  EXPECT_EQ(result.job.nodes(1).inputs(0).from_port(), "rest");
}

TEST(overrides, the_last_one_wins_and_parameters_are_replaced) {
  const read_result result = read_job(
      job, "job.yaml", {}, {{"nodes.a.with.limit", "7"}, {"nodes.a.with.limit", "${n}0"}, {"params.n.default", "4"}});
  ASSERT_THAT(testing::faults_of(result), ElementsAre());
  EXPECT_EQ(text(*with(result, "limit")), "40");
}

TEST(overrides, parents_must_exist) {
  auto one = [](const std::string& path) { return testing::only_fault(job, {}, {{path, "1"}}); };
  EXPECT_EQ(one("nodes.c.with.limit").message, "there is no 'c' in nodes");
  EXPECT_EQ(one("nodes.a.wiht.limit").hint, "did you mean 'with'?");
  EXPECT_EQ(one("nodes.a.wiht.limit").where, (source_position{"--set nodes.a.wiht.limit=1", 0, 0}));
  EXPECT_EQ(one("nodes.b.with.limit").message, "there is no 'with' in nodes.b");
  EXPECT_EQ(one("nodes.a.op.x").message, "nodes.a.op is text and has no 'x'");
  EXPECT_EQ(one("nodes.a.with.by.7").message, "nodes.a.with.by is a list of 1 and has no item '7'");
  EXPECT_EQ(one("nodes..a").message, "an empty name in the path");
  EXPECT_EQ(one("").message, "an empty name in the path");
}

TEST(overrides, faults_stand_at_the_option) {
  EXPECT_THAT(testing::faults_in(job, {}, {{"resources.memory", "lots"}}),
              ElementsAre("--set resources.memory=lots 'lots' is no value for memory"));
  EXPECT_THAT(testing::faults_in(job, {}, {{"nodes.a.with.by", "[a"}}),
              ElementsAre("--set nodes.a.with.by=[a this '[' is never closed"));
  EXPECT_THAT(testing::faults_in(job, {}, {{"nodes.a.wiht", "1"}}),
              ElementsAre(HasSubstr("--set nodes.a.wiht=1 unknown key 'wiht'")));
  EXPECT_THAT(testing::faults_in(job, {}, {{"nodes.a.with.k", "${m}"}}),
              ElementsAre("--set nodes.a.with.k=${m} there is no parameter 'm'"));
  EXPECT_THAT(testing::faults_in(job, {}, {{"nodes.a.with.k", "\xFF"}}), ElementsAre(HasSubstr("not UTF-8")));
}

TEST(overrides, depth_stays_bounded) {
  std::string path = "nodes.a.with.k";
  std::string deep = "{a: 1}";
  for (int i = 0; i < 29; ++i) deep = "{a: " + deep + "}";
  EXPECT_EQ(testing::only_fault(job, {}, {{path, deep}}).message, "nested too deeply");
}

}  // namespace
}  // namespace flowrun::specs
