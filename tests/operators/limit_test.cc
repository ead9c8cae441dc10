// limit against a plain loop, over batches of many sizes, groups of many lengths, and columns of text.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/operators/harness.h"

namespace flowrun::operators::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string out_of_x = "out: {op: test.sink, in: x}\n";

TEST(limit, keeps_the_first_rows) {
  rows in;
  for (int i = 0; i < 3000; ++i) in.push_back(fmt::format("{},{}", i, std::string(static_cast<size_t>(i % 7), 'x')));
  for (const auto& [with, first, last] :
       std::vector<std::tuple<std::string, size_t, size_t>>{{"{count: 1}", 0, 1},
                                                            {"{count: 1500}", 0, 1500},
                                                            {"{count: 3000}", 0, 3000},
                                                            {"{count: 5000, by: []}", 0, 3000},
                                                            {"{skip: 1}", 1, 3000},
                                                            {"{skip: 2999}", 2999, 3000},
                                                            {"{skip: 3000}", 3000, 3000},
                                                            {"{skip: 9000, count: 1}", 3000, 3000},
                                                            {"{skip: 1000, count: 700}", 1000, 1700},
                                                            {"{skip: 2990, count: 9223372036854775807}", 2990, 3000}}) {
    const std::string nodes =
        "in: {op: test.rows, with: {type: {n: u32, s: string}}}\n"
        "x: {op: limit, in: in, with: " +
        with + "}\n" + out_of_x;
    EXPECT_EQ(run_all_ways(nodes, {{"in", in}}),
              rows(in.begin() + static_cast<ptrdiff_t>(first), in.begin() + static_cast<ptrdiff_t>(last)))
        << with;
  }
}

TEST(limit, keeps_the_first_rows_of_each_group) {
  std::mt19937_64 random(5);
  for (const uint64_t longest : {1, 3, 40, 900}) {
    rows in;
    std::vector<size_t> places;  // of each row in its group
    for (int k = 0; in.size() < 2500; ++k) {
      const size_t length = 1 + random() % longest;
      for (size_t i = 0; i < length; ++i) {
        in.push_back(fmt::format("{},k{},{}", k / 3, k % 3, std::string(random() % 9, 'y')));
        places.push_back(i);
      }
    }
    for (const auto& [skip, count] :
         std::vector<std::pair<uint64_t, uint64_t>>{{0, 1}, {0, 2}, {1, 1}, {2, 30}, {35, 700}}) {
      rows expected;
      for (size_t i = 0; i < in.size(); ++i)
        if (places[i] >= skip && places[i] < skip + count) expected.push_back(in[i]);
      const std::string nodes =
          fmt::format(
              "in: {{op: test.rows, with: {{type: {{a: u16, b: string, c: string}}, sorted_by: [b, a]}}}}\n"
              "x: {{op: limit, in: in, with: {{count: {}, skip: {}, by: [a, b]}}}}\n",
              count, skip) +
          out_of_x;
      EXPECT_EQ(run_all_ways(nodes, {{"in", in}}), expected) << longest << ", " << skip << ", " << count;
    }
  }
}

TEST(limit, of_nothing_is_empty) {
  for (const char* with : {"{count: 3}", "{count: 3, by: [k]}", "{skip: 3}"})
    EXPECT_THAT(run_all_ways(fmt::format("in: {{op: test.rows, with: {{type: {{k: u8}}, sorted_by: [k]}}}}\n"
                                         "x: {{op: limit, in: in, with: {}}}\n",
                                         with) +
                                 out_of_x,
                             {{"in", {}}}),
                IsEmpty());
}

TEST(limit, keeps_columns_and_order) {
  const std::string in = "in: {op: test.rows, with: {type: {a: u8, b: u16}, sorted_by: [-b, a]}}\n";
  EXPECT_EQ(output_of(in + "x: {op: limit, in: in, with: {count: 2, by: [b]}}\n" + out_of_x, "x"),
            "{a: u8, b: u16} by -b, a");
}

TEST(limit, says_what_it_needs) {
  const std::string in = "in: {op: test.rows, with: {type: {a: u8, b: u16}, sorted_by: [b]}}\n";
  const auto faults = [&](const std::string& with) {
    return faults_of(in + "x: {op: limit, in: in, with: " + with + "}\n" + out_of_x);
  };
  EXPECT_THAT(faults("{count: 0}"), ElementsAre(HasSubstr("a limit of 0 leaves no rows")));
  EXPECT_THAT(faults("{by: [b]}"), ElementsAre(HasSubstr("a limit needs to know how many rows")));
  EXPECT_THAT(faults("{skip: 0}"), ElementsAre(HasSubstr("a limit needs to know how many rows")));
  EXPECT_THAT(faults("{count: 2, by: [a]}"),
              ElementsAre(HasSubstr("'limit' needs equal a of 'in' next to each other")));
  EXPECT_THAT(faults("{count: 2, by: [c]}"), ElementsAre(HasSubstr("'in' has no column 'c'")));
  EXPECT_THAT(faults("{count: -2}"), ElementsAre(HasSubstr("'-2' is not right for 'count'")));
}

}  // namespace
}  // namespace flowrun::operators::testing
