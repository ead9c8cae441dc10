// group_pairs: all pairs within groups.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "engine/base/error.h"
#include "tests/operators/harness.h"

namespace flowrun::operators::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string edges_in = "in: {op: test.rows, with: {type: {src: u32, dst: u32}, sorted_by: [src, dst]}}\n";
const std::string words_in = "in: {op: test.rows, with: {type: {s: string, n: i16}, sorted_by: [s]}}\n";
const std::string out_of_x = "out: {op: test.sink, in: x}\n";

struct edge {
  uint32_t src, dst;
};
// Groups of 1 to 40 edges.
std::vector<edge> random_edges(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<edge> out;
  for (uint32_t src = 0; out.size() < count; ++src) {
    const size_t degree = 1 + random() % (random() % 8 == 0 ? 40 : 4);
    uint32_t dst = 0;
    for (size_t k = 0; k < degree; ++k) out.push_back({src, dst += static_cast<uint32_t>(random() % 3)});
  }
  return out;
}
rows as_text(const std::vector<edge>& edges) {
  rows out;
  for (const edge& e : edges) out.push_back(fmt::format("{},{}", e.src, e.dst));
  return out;
}

TEST(group_pairs, makes_wedges) {
  const std::vector<edge> edges = random_edges(1500, 1);
  rows expected;
  for (size_t b = 0; b < edges.size(); ++b)
    for (size_t a = 0; a < b; ++a)
      if (edges[a].src == edges[b].src) expected.push_back(fmt::format("{},{}", edges[a].dst, edges[b].dst));
  EXPECT_EQ(
      run_all_ways(edges_in + "x: {op: group_pairs, in: in, with: {by: [src], let: {u: a.dst, v: b.dst}}}\n" + out_of_x,
                   {{"in", as_text(edges)}}),
      expected);
}

// A constant condition folds a branch away, and with it the only use of a column.
TEST(group_pairs, reads_no_column_that_is_folded_away) {
  for (const char* let : {"{x: \"if(true, 1, b.dst)\"}", "{x: \"u64(if(false, a.dst, 1))\"}"})
    EXPECT_EQ(run_all_ways(fmt::format("{}x: {{op: group_pairs, in: in, with: {{by: [src], let: {}}}}}\n{}", edges_in,
                                       let, out_of_x),
                           {{"in", {"1,5", "1,6", "2,7"}}}),
              rows{"1"})
        << let;
  EXPECT_EQ(run_all_ways(edges_in +
                             "x: {op: group_pairs, in: in, with: {by: [src], let: {x: a.dst}, "
                             "where: \"if(true, a.dst == 5, b.src == 0)\"}}\n" +
                             out_of_x,
                         {{"in", {"1,5", "1,6", "2,7"}}}),
            rows{"5"});
}

TEST(group_pairs, computes_and_filters) {
  const std::vector<edge> edges = random_edges(1500, 2);
  rows expected;
  for (size_t b = 0; b < edges.size(); ++b)
    for (size_t a = 0; a < b; ++a)
      if (edges[a].src == edges[b].src && edges[a].dst < edges[b].dst)
        expected.push_back(fmt::format("{},{}", edges[a].src, edges[b].dst - edges[a].dst));
  EXPECT_EQ(run_all_ways(edges_in +
                             "x: {op: group_pairs, in: in, with: {by: [src], let: {k: b.src, d: \"u32(b.dst - "
                             "a.dst)\"}, where: a.dst < b.dst}}\n" +
                             out_of_x,
                         {{"in", as_text(edges)}}),
            expected);
}

TEST(group_pairs, handles_strings) {
  std::mt19937_64 random(3);
  rows input, expected;
  struct word {
    std::string s;
    int n;
  };
  std::vector<word> words;
  for (int group = 0; group < 60; ++group)
    for (size_t k = 1 + random() % 6; k > 0; --k)
      words.push_back({fmt::format("w{:02}", group), static_cast<int>(random() % 100) - 50});
  for (const word& w : words) input.push_back(fmt::format("{},{}", w.s, w.n));
  for (size_t b = 0; b < words.size(); ++b)
    for (size_t a = 0; a < b; ++a)
      if (words[a].s == words[b].s)
        expected.push_back(fmt::format("{},{}{},{}", words[b].s, words[a].s, words[b].n, words[a].n));
  EXPECT_EQ(run_all_ways(words_in +
                             "x: {op: group_pairs, in: in, with: {by: [s], let: {s: b.s, t: \"concat(a.s, "
                             "string(b.n))\", m: a.n}}}\n" +
                             out_of_x,
                         {{"in", input}}),
            expected);
}

TEST(group_pairs, takes_the_whole_input_as_one_group) {
  rows input, expected;
  for (int i = 0; i < 200; ++i) input.push_back(fmt::format("{},{}", i / 20, i));
  for (int b = 0; b < 200; ++b)
    for (int a = 0; a < b; ++a) expected.push_back(fmt::format("{}", b));
  const auto nodes = [](const std::string& let) {
    return edges_in + "x: {op: group_pairs, in: in, with: {by: [], let: {" + let + "}}}\n" + out_of_x;
  };
  EXPECT_EQ(run_all_ways(nodes("v: b.dst"), {{"in", input}}), expected);
  EXPECT_EQ(run_all_ways(nodes("v: u8(1)"), {{"in", input}}), rows(expected.size(), "1"));
  EXPECT_THAT(run_all_ways(nodes("v: a.dst"), {{"in", {"1,7"}}}), IsEmpty());
  EXPECT_THAT(run_all_ways(nodes("v: a.dst"), {{"in", {}}}), IsEmpty());
}

TEST(group_pairs, keeps_the_keys_order) {
  const auto order = [](const std::string& let) {
    return output_of(
        "in: {op: test.rows, with: {type: {k: u8, l: u8, v: u8}, sorted_by: [k, -l, v]}}\n"
        "x: {op: group_pairs, in: in, with: {by: [l, k], let: {" +
            let + "}}}\n" + out_of_x,
        "x");
  };
  EXPECT_EQ(order("k: a.k, m: b.l, v: a.v"), "{k: u8, m: u8, v: u8} by k, -m");
  EXPECT_EQ(order("m: b.l, v: a.v"), "{m: u8, v: u8} by nothing");
}

TEST(group_pairs, ends_when_a_group_outgrows_its_memory) {
  const std::string nodes =
      edges_in + "x: {op: group_pairs, in: in, with: {by: [src], let: {v: a.dst}, where: a.dst > 100000}}\n" + out_of_x;
  rows input;
  for (int i = 0; i < 3000; ++i) input.push_back(fmt::format("1,{}", i));
  EXPECT_THAT(run(nodes, {{"in", input}}, {.memory_bytes = 64 * 1024}).sinks["out"], IsEmpty());
  try {
    run(nodes, {{"in", input}}, {.memory_bytes = 4 * 1024});
    FAIL() << "no error";
  } catch (const error& e) {
    EXPECT_EQ(e.kind(), error_kind::resources);
    EXPECT_THAT(e.what(), AllOf(HasSubstr("node 'x'"), HasSubstr("one group (src)")));
    EXPECT_THAT(e.hint(), HasSubstr("smaller groups"));
  }
}

TEST(group_pairs, reports_faults) {
  const auto faults = [](const std::string& with) {
    return faults_of(edges_in + "x: {op: group_pairs, in: in, with: {" + with + "}}\n" + out_of_x);
  };
  EXPECT_THAT(faults("by: [dst], let: {v: a.dst}"), ElementsAre(HasSubstr("op: sort")));
  EXPECT_THAT(faults("by: [src], let: {v: a.dts}"),
              ElementsAre(AllOf(HasSubstr("unknown column 'a.dts'"), HasSubstr("did you mean 'a.dst'"))));
  EXPECT_THAT(faults("by: [src], let: {v: dst}"), ElementsAre(HasSubstr("one of a.src, a.dst, b.src, b.dst")));
  EXPECT_THAT(faults("by: [src], let: {v: c.dst}"), ElementsAre(HasSubstr("unknown column 'c.dst'")));
  EXPECT_THAT(faults("by: [src], let: {v: a.dst}, where: a.dst"), ElementsAre(HasSubstr("the condition is u32")));
  EXPECT_THAT(faults("by: [src], let: {}"), ElementsAre(HasSubstr("something to give")));
}

}  // namespace
}  // namespace flowrun::operators::testing
