// merge with `less`: orders that no columns express.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>

#include "engine/base/error.h"
#include "tests/operators/harness.h"

namespace flowrun::operators::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string out_of_x = "out: {op: test.sink, in: x}\n";

struct item {
  int64_t k = 0;
  uint64_t v = 0;
  double f = 0;
  size_t input = 0;
};

// Merges streams that are sorted by `less`, and compares with a stable sort of all.
void merge_case(uint64_t seed, size_t num_inputs, size_t rows_each, const std::string& text,
                const std::function<bool(const item&, const item&)>& less) {
  std::mt19937_64 random(seed);
  std::string nodes, list;
  std::map<std::string, rows> inputs;
  std::vector<item> all;
  const auto as_text = [](const item& i) { return fmt::format("{},{},{}", i.k, i.v, i.f); };
  for (size_t k = 0; k < num_inputs; ++k) {
    const std::string name = fmt::format("in{}", k);
    nodes += name + ": {op: test.rows, with: {type: {k: i16, v: u40, f: f64}}}\n";
    list += (k > 0 ? ", " : "") + name;
    std::vector<item> mine(rows_each == 0 ? 0 : random() % rows_each);
    for (item& i : mine)
      i = {static_cast<int64_t>(random() % 9) - 4, random() % 7, static_cast<double>(random() % 5) / 2, k};
    std::stable_sort(mine.begin(), mine.end(), less);
    for (const item& i : mine) inputs[name].push_back(as_text(i));
    inputs[name];
    all.insert(all.end(), mine.begin(), mine.end());
  }
  std::stable_sort(all.begin(), all.end(), less);
  rows expected;
  for (const item& i : all) expected.push_back(as_text(i));
  nodes += fmt::format("x: {{op: merge, in: [{}], with: {{less: \"{}\"}}}}\n", list, text) + out_of_x;
  EXPECT_EQ(run_all_ways(nodes, inputs), expected) << "seed " << seed << ", " << text;
}

TEST(merge_less, is_a_stable_merge) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    for (const size_t num_inputs : {1, 2, 3, 8}) {
      merge_case(seed, num_inputs, 300, "a.k < b.k", [](const item& a, const item& b) { return a.k < b.k; });
      merge_case(seed, num_inputs, 300, "(a.v, a.k) < (b.v, b.k)",
                 [](const item& a, const item& b) { return std::pair(a.v, a.k) < std::pair(b.v, b.k); });
      merge_case(seed, num_inputs, 300, "a.k > b.k or (a.k == b.k and a.v < b.v)",
                 [](const item& a, const item& b) { return a.k != b.k ? a.k > b.k : a.v < b.v; });
      merge_case(seed, num_inputs, 300, "(a.f, a.v % 3) < (b.f, b.v % 3)",
                 [](const item& a, const item& b) { return std::pair(a.f, a.v % 3) < std::pair(b.f, b.v % 3); });
      merge_case(seed, num_inputs, 300, "abs(a.k) + i64(a.v) < abs(b.k) + i64(b.v)", [](const item& a, const item& b) {
        return std::abs(a.k) + static_cast<int64_t>(a.v) < std::abs(b.k) + static_cast<int64_t>(b.v);
      });
    }
  }
  merge_case(9, 3, 300, "a.v > 99", [](const item&, const item&) { return false; });
  merge_case(10, 3, 300, "false", [](const item&, const item&) { return false; });
}

// Numbers that vary from run to run; with texts and calls around them they are as good as constants.
TEST(merge_less, scalars_that_are_known_at_the_run) {
  const rows b = {"5"}, in = {"0", "1", "2"};
  for (const std::string condition :
       {"length(string(all.k)) > 0", "string(all.k) in ('5', '6')", "regex_matches(string(all.k), '[0-9]')",
        "all.k + 1 > 5", "to_decimal(all.k, 2) * 2 > 9"})
    EXPECT_EQ(
        run_all_ways("b: {op: test.rows, with: {type: {k: u64}}}\n"
                     "in0: {op: test.rows, with: {type: {i: u64}}}\nin1: {op: test.rows, with: {type: {i: u64}}}\n"
                     "x: {op: merge, in: [in0, in1], scalars: {all: b}, with: {less: \"if(" +
                         condition + ", a.i < b.i, a.i > b.i)\"}}\n" + out_of_x,
                     {{"b", b}, {"in0", in}, {"in1", in}}),
        rows({"0", "0", "1", "1", "2", "2"}))
        << condition;
}

// The last step of DC3 (Kärkkäinen, Sanders 2003): suffixes of all three classes, each with what comparing it takes.
void suffix_case(uint64_t seed, size_t length, int letters) {
  std::mt19937_64 random(seed);
  std::string text;
  for (size_t i = 0; i < length; ++i)
    text += static_cast<char>('a' + static_cast<int>(random() % static_cast<uint64_t>(letters)));
  std::vector<size_t> sorted(length);
  for (size_t i = 0; i < length; ++i) sorted[i] = i;
  std::sort(sorted.begin(), sorted.end(), [&](size_t a, size_t b) { return text.substr(a) < text.substr(b); });
  // Ranks of the suffixes of classes 1 and 2, from 1; 0 beyond the end.
  std::vector<uint64_t> rank(length + 3, 0);
  uint64_t next = 0;
  for (size_t i : sorted)
    if (i % 3 != 0) rank[i] = ++next;
  const auto letter = [&](size_t i) { return i < length ? static_cast<int>(text[i]) : 0; };
  std::map<std::string, rows> inputs{{"s0", {}}, {"s1", {}}, {"s2", {}}};
  rows expected;
  for (size_t i : sorted) {
    expected.push_back(std::to_string(i));
    if (i % 3 == 0)
      inputs["s0"].push_back(fmt::format("{},{},{},{},{}", i, letter(i), letter(i + 1), rank[i + 1], rank[i + 2]));
    else if (i % 3 == 1)
      inputs["s1"].push_back(fmt::format("{},{},{},{}", i, rank[i], letter(i), rank[i + 1]));
    else
      inputs["s2"].push_back(fmt::format("{},{},{},{},{}", i, rank[i], letter(i), letter(i + 1), rank[i + 2]));
  }
  const std::string nodes =
      "s0: {op: test.rows, with: {type: {pos: u32, c0: u8, c1: u8, r1: u32, r2: u32}}}\n"
      "s1: {op: test.rows, with: {type: {pos: u32, r0: u32, c0: u8, r1: u32}}}\n"
      "s2: {op: test.rows, with: {type: {pos: u32, r0: u32, c0: u8, c1: u8, r2: u32}}}\n"
      "x:\n"
      "  op: merge\n"
      "  in: [s0, s1, s2]\n"
      "  with:\n"
      "    less: >-\n"
      "      if(a.input != 0 and b.input != 0, a.r0 < b.r0,\n"
      "      if(a.input == 2 or b.input == 2, (a.c0, a.c1, a.r2) < (b.c0, b.c1, b.r2),\n"
      "      (a.c0, a.r1) < (b.c0, b.r1)))\n"
      "y: {op: map, in: x, with: {pos: pos}}\n"
      "out: {op: test.sink, in: y}\n";
  EXPECT_EQ(run_all_ways(nodes, inputs), expected) << text;
  EXPECT_EQ(output_of(nodes, "x"), "{pos: u32, c0: u8} by nothing");
}

TEST(merge_less, merges_the_suffixes_of_dc3) {
  suffix_case(1, 0, 2);
  suffix_case(2, 1, 2);
  suffix_case(3, 500, 2);
  suffix_case(4, 700, 4);
  suffix_case(5, 300, 1);
}

TEST(merge_less, carries_strings) {
  const std::string nodes =
      "p: {op: test.rows, with: {type: {s: string, n: u8}}}\n"
      "q: {op: test.rows, with: {type: {n: u8, s: string, m: u8}}}\n"
      "x: {op: merge, in: [p, q], with: {less: \"length(a.s) < length(b.s)\"}}\n" +
      out_of_x;
  EXPECT_THAT(run_all_ways(nodes, {{"p", {",1", "aa,2", "bbbb,3"}}, {"q", {"4,c,0", "5,dd,0", "6,eee,0"}}}),
              ElementsAre(",1", "c,4", "aa,2", "dd,5", "eee,6", "bbbb,3"));
}

TEST(merge_less, finds_unsorted_inputs) {
  const std::string nodes =
      "p: {op: test.rows, with: {type: {n: u8}}}\n"
      "q: {op: test.rows, with: {type: {n: u8}}}\n"
      "x: {op: merge, in: [p, q], with: {less: a.n < b.n}}\n" +
      out_of_x;
  for (const size_t most_rows : {1, 2, 100}) {
    try {
      run(nodes, {{"p", {"1", "2", "9"}}, {"q", {"1", "3", "3", "2"}}}, {.most_rows = most_rows});
      FAIL() << "no error";
    } catch (const error& e) {
      EXPECT_EQ(e.kind(), error_kind::bad_data);
      EXPECT_THAT(e.what(), HasSubstr("node 'x': 'q' is not sorted by `less`: its row 3 comes before row 2"));
    }
  }
}

TEST(merge_less, reports_faults) {
  const auto faults = [](const std::string& first, const std::string& second, const std::string& with) {
    return faults_of("p: {op: test.rows, with: {type: {" + first + "}}}\nq: {op: test.rows, with: {type: {" + second +
                     "}}}\nx: {op: merge, in: [p, q], with: {" + with + "}}\n" + out_of_x);
  };
  EXPECT_THAT(faults("n: u8", "n: u8", ""), ElementsAre(HasSubstr("needs the order of its inputs")));
  EXPECT_THAT(faults("n: u8", "n: u8", "by: [n], less: a.n < b.n"), ElementsAre(HasSubstr("either by or less")));
  EXPECT_THAT(faults("n: u8", "n: u16", "less: a.n < b.n"), ElementsAre(HasSubstr("'n' is u16 in 'q' and u8")));
  EXPECT_THAT(faults("n: u8", "n: u8", "less: a.n < b.m"), ElementsAre(HasSubstr("unknown column 'b.m'")));
  EXPECT_THAT(faults("n: u8", "n: u8", "less: a.n"), ElementsAre(HasSubstr("the condition is u8")));
  EXPECT_THAT(faults("s: string", "s: string", "less: a.s < b.s"),
              ElementsAre(AllOf(HasSubstr("texts of two rows"), HasSubstr("merge `by` columns"))));
  EXPECT_THAT(faults("n: u8", "m: u8", "less: a.n < b.m"), ElementsAre(HasSubstr("no column in common")));
}

}  // namespace
}  // namespace flowrun::operators::testing
