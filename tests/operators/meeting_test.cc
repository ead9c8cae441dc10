// concat, merge and zip: several streams into one.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "engine/base/error.h"
#include "tests/operators/harness.h"

namespace flowrun::operators::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string source(const std::string& name, const std::string& type, const std::string& sorted_by = "") {
  return fmt::format("{}: {{op: test.rows, with: {{type: {}{}}}}}\n", name, type,
                     sorted_by.empty() ? "" : ", sorted_by: " + sorted_by);
}
const std::string out_of_x = "out: {op: test.sink, in: x}\n";

TEST(concat, puts_streams_one_after_another) {
  const std::string nodes = source("a", "{n: u16, s: string}") + source("b", "{n: u16, s: string}") +
                            source("c", "{n: u16, s: string}") + "x: {op: concat, in: [b, a, c]}\n" + out_of_x;
  EXPECT_THAT(run_all_ways(nodes, {{"a", {"1,x", "2,y"}}, {"b", {"7,z"}}, {"c", {}}}),
              ElementsAre("7,z", "1,x", "2,y"));
}

TEST(concat, wants_equal_types) {
  EXPECT_THAT(faults_of(source("a", "{n: u16}") + source("b", "{n: u32}") + "x: {op: concat, in: [a, b]}\n" + out_of_x),
              ElementsAre(HasSubstr("'b' has rows of {n: u32}, 'a' of {n: u16}")));
}

TEST(concat, promises_no_order) {
  EXPECT_EQ(output_of(source("a", "{n: u16}", "[n]") + source("b", "{n: u16}", "[n]") +
                          "x: {op: concat, in: [a, b]}\n" + out_of_x,
                      "x"),
            "{n: u16} by nothing");
}

struct keyed_row {
  std::string text;
  int64_t key;
  std::string second;
};

// Rows "key,second,input" of several inputs, sorted by (key descending?, second).
void merge_case(uint64_t seed, size_t num_inputs, int64_t num_keys, bool descending) {
  std::mt19937_64 random(seed);
  std::string nodes, list;
  std::map<std::string, rows> inputs;
  std::vector<keyed_row> all;
  const auto less = [&](const keyed_row& a, const keyed_row& b) {
    if (a.key != b.key) return descending ? a.key > b.key : a.key < b.key;
    return a.second < b.second;
  };
  for (size_t k = 0; k < num_inputs; ++k) {
    const std::string name = fmt::format("in{}", k);
    nodes += source(name, "{k: i32, s: string, from: u8}", descending ? "[-k, s]" : "[k, s]");
    list += (k > 0 ? ", " : "") + name;
    std::vector<keyed_row> mine;
    const size_t count = random() % 400;
    for (size_t i = 0; i < count; ++i) {
      keyed_row r;
      r.key = static_cast<int64_t>(random() % static_cast<uint64_t>(num_keys)) - num_keys / 2;
      r.second = std::string(random() % 3, static_cast<char>('a' + random() % 2));
      r.text = fmt::format("{},{},{}", r.key, r.second, k);
      mine.push_back(r);
    }
    std::stable_sort(mine.begin(), mine.end(), less);
    for (const keyed_row& r : mine) inputs[name].push_back(r.text);
    inputs[name];
    all.insert(all.end(), mine.begin(), mine.end());
  }
  std::stable_sort(all.begin(), all.end(), less);
  rows expected;
  for (const keyed_row& r : all) expected.push_back(r.text);
  nodes +=
      fmt::format("x: {{op: merge, in: [{}], with: {{by: {}}}}}\n", list, descending ? "[-k, s]" : "[k, s]") + out_of_x;
  EXPECT_EQ(run_all_ways(nodes, inputs), expected) << "seed " << seed;
}

TEST(merge, is_a_stable_merge) {
  merge_case(1, 1, 10, false);
  merge_case(2, 2, 5, false);
  merge_case(3, 2, 1000, true);
  merge_case(4, 7, 20, false);
  merge_case(5, 9, 3, true);
  merge_case(6, 20, 40, false);
}

TEST(merge, moves_long_runs) {
  rows low, high, expected;
  for (int i = 0; i < 5000; ++i) low.push_back(std::to_string(i));
  for (int i = 2500; i < 9000; ++i) high.push_back(std::to_string(i));
  for (int i = 0; i < 9000; ++i) {
    if (i < 5000) expected.push_back(std::to_string(i));
    if (i >= 2500) expected.push_back(std::to_string(i));
  }
  const std::string nodes = source("a", "{n: u64}", "[n]") + source("b", "{n: u64}", "[n]") +
                            "x: {op: merge, in: [a, b], with: {by: [n]}}\n" + out_of_x;
  EXPECT_EQ(run_all_ways(nodes, {{"a", low}, {"b", high}}), expected);
}

// Slices by keys that are longer than what rows are first compared by, of which some are empty, and of rows of very
// different lengths.
TEST(merge, takes_long_texts) {
  std::mt19937_64 random(1);
  std::string nodes, list;
  std::map<std::string, rows> inputs;
  rows expected;
  for (size_t k = 0; k < 5; ++k) {
    const std::string name = fmt::format("in{}", k);
    nodes += source(name, "{path: string, n: u16}", "[path, -n]");
    list += (k > 0 ? ", " : "") + name;
    std::vector<std::pair<std::string, int>> mine;
    for (int i = 0; i < 600; ++i)
      mine.emplace_back(random() % 40 == 0 ? "" : fmt::format("/usr/share/doc/{}", std::string(random() % 300, 'a')),
                        static_cast<int>(random() % 3));
    std::sort(mine.begin(), mine.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    for (const auto& [path, n] : mine) inputs[name].push_back(fmt::format("{},{}", path, n));
    expected.insert(expected.end(), inputs[name].begin(), inputs[name].end());
  }
  std::sort(expected.begin(), expected.end(), [](const std::string& a, const std::string& b) {
    const size_t i = a.rfind(','), j = b.rfind(',');
    const int order = a.compare(0, i, b, 0, j);
    return order != 0 ? order < 0 : a.substr(i) > b.substr(j);
  });
  nodes += fmt::format("x: {{op: merge, in: [{}], with: {{by: [path, -n]}}}}\n", list) + out_of_x;
  EXPECT_EQ(run_all_ways(nodes, inputs), expected);
}

TEST(merge, needs_sorted_inputs) {
  const auto faults = faults_of(source("a", "{n: u16}", "[n]") + source("b", "{n: u16}") +
                                "x: {op: merge, in: [a, b], with: {by: [n]}}\n" + out_of_x);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_THAT(faults[0], HasSubstr("op: sort"));
  EXPECT_THAT(faults[0], HasSubstr("'b'"));
}

TEST(merge, takes_columns_only) {
  EXPECT_THAT(faults_of(source("a", "{n: u16}", "[n]") + source("b", "{n: u16}", "[n]") +
                        "x: {op: merge, in: [a, b], with: {by: [n + 1]}}\n" + out_of_x),
              ElementsAre(HasSubstr("'n + 1' is not a column")));
}

TEST(zip, puts_columns_side_by_side) {
  rows a, b, expected;
  for (int i = 0; i < 3000; ++i) {
    a.push_back(std::to_string(i));
    b.push_back(fmt::format("{},text {}", i * 3, i));
    expected.push_back(a.back() + "," + b.back());
  }
  const std::string nodes = source("a", "{n: u32}", "[n]") + source("b", "{m: u64, s: string}") +
                            "x: {op: zip, in: {left: a, right: b}}\n" + out_of_x;
  EXPECT_EQ(run_all_ways(nodes, {{"a", a}, {"b", b}}), expected);
  EXPECT_EQ(output_of(nodes, "x"), "{n: u32, m: u64, s: string} by n");
}

TEST(zip, gives_columns_of_right_other_names) {
  const std::string nodes = source("a", "{n: u32, s: string}") + source("b", "{n: u8, s: string, m: u8}", "[n, -s]") +
                            "x: {op: zip, in: {left: a, right: b}, with: {rename: {s: t, n: k}}}\n" + out_of_x;
  EXPECT_THAT(run_all_ways(nodes, {{"a", {"1,a", "2,b"}}, {"b", {"3,c,4", "5,d,6"}}}),
              ElementsAre("1,a,3,c,4", "2,b,5,d,6"));
  EXPECT_EQ(output_of(nodes, "x"), "{n: u32, s: string, k: u8, t: string, m: u8} by k, -t");
}

TEST(zip, wants_equal_lengths) {
  const std::string nodes =
      source("a", "{n: u32}") + source("b", "{m: u8}") + "x: {op: zip, in: {left: a, right: b}}\n" + out_of_x;
  EXPECT_THAT(run_all_ways(nodes, {{"a", {}}, {"b", {}}}), IsEmpty());
  try {
    run(nodes, {{"a", {"1", "2", "3"}}, {"b", {"1", "2"}}});
    FAIL() << "no error";
  } catch (const error& e) {
    EXPECT_EQ(e.kind(), error_kind::bad_data);
    EXPECT_THAT(e.what(), HasSubstr("node 'x': 'b' ends after 2 rows, 'a' goes on"));
  }
  EXPECT_THROW(run(nodes, {{"a", {"1", "2"}}, {"b", {"1", "2", "3"}}}, {.most_rows = 1}), error);
}

TEST(zip, refuses_columns_of_the_same_name) {
  EXPECT_THAT(faults_of(source("a", "{n: u32}") + source("b", "{n: u8}") + "x: {op: zip, in: {left: a, right: b}}\n" +
                        out_of_x),
              ElementsAre(HasSubstr("both 'a' and 'b' have a column 'n'")));
  const auto faults = [](const std::string& rename) {
    return faults_of(source("a", "{n: u32, m: u8}") + source("b", "{n: u8, m: u8, b_n: u8}") +
                     "x: {op: zip, in: {left: a, right: b}, with: {rename: " + rename + "}}\n" + out_of_x);
  };
  EXPECT_THAT(faults("{}"),
              ElementsAre(HasSubstr("both 'a' and 'b' have the columns 'n', 'm' (expected: distinct "
                                    "names) (help: rename in the zip, with: {rename: {n: b_n_2, m: b_m}}")));
  EXPECT_THAT(faults("{n: k, m: k}"), ElementsAre(HasSubstr("the output has a column 'k' already")));
  EXPECT_THAT(faults("{n: b_n, m: k}"), ElementsAre(HasSubstr("the output has a column 'b_n' already")));
  EXPECT_THAT(faults("{n: m, m: n}"), ElementsAre(HasSubstr("has a column 'm' already"), HasSubstr("'n' already")));
  EXPECT_THAT(faults("{n: k, m: l, o: p}"), ElementsAre(HasSubstr("'b' has no column 'o'")));
  EXPECT_THAT(faults("{n: \"k-1\", m: l}"), ElementsAre(HasSubstr("'k-1' can't name a column")));
  EXPECT_THAT(faults("{n: [k], m: l}"), ElementsAre(HasSubstr("'n' is a list")));
}

}  // namespace
}  // namespace flowrun::operators::testing
