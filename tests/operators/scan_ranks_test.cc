// scan: ranks, conditional emits, several rows for each.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/operators/harness.h"

namespace flowrun::operators::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string out_of_x = "out: {op: test.sink, in: x}\n";
const std::string pairs_in = "in: {op: test.rows, with: {type: {k: u8, v: i32, s: string}}}\n";

struct item {
  int k, v;
  std::string s;
};
// Runs of equal values, within and across the groups of k.
std::vector<item> random_items(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<item> out;
  item now{0, 0, "a"};
  for (size_t i = 0; i < count; ++i) {
    if (random() % 7 == 0) now.k = static_cast<int>(random() % 3);
    if (random() % 3 == 0) now.v = static_cast<int>(random() % 4) - 2;
    if (random() % 3 == 0) now.s = std::string(random() % 3, 'b');
    out.push_back(now);
  }
  return out;
}
rows as_text(const std::vector<item>& items) {
  rows out;
  for (const item& i : items) out.push_back(fmt::format("{},{},{}", i.k, i.v, i.s));
  return out;
}

void ranks_case(bool reset, uint64_t seed) {
  const std::vector<item> items = random_items(2500, seed);
  rows expected;
  uint64_t dense = 0, by_text = 0, least = 0, number = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    const bool first = i == 0 || (reset && items[i].k != items[i - 1].k);
    if (first) {
      dense = by_text = least = number = 0;
    } else {
      ++number;
      const item &now = items[i], &before = items[i - 1];
      if (now.v != before.v) ++dense;
      if (now.v != before.v || now.s != before.s) {
        ++by_text;
        least = number;
      }
    }
    expected.push_back(
        fmt::format("{},{},{},{},{},{},{}", items[i].k, items[i].v, items[i].s, number, dense, by_text, least));
  }
  EXPECT_EQ(run_all_ways(pairs_in +
                             "x: {op: scan, in: in, with: {number: n, dense_rank: {d: [v], t: [s, v]}, min_rank: {m: "
                             "[v, s]}" +
                             (reset ? ", reset: [k]" : "") + "}}\n" + out_of_x,
                         {{"in", as_text(items)}}),
            expected)
      << "seed " << seed;
}

TEST(scan, ranks_values) {
  ranks_case(false, 1);
  ranks_case(true, 2);
  ranks_case(true, 3);
}

TEST(scan, a_rank_may_name_one_column_and_be_an_order) {
  const std::string nodes = pairs_in + "x: {op: scan, in: in, with: {dense_rank: {name: v}}}\n" + out_of_x;
  EXPECT_EQ(output_of(nodes, "x"), "{k: u8, v: i32, s: string, name: u64} by name");
  EXPECT_THAT(run_all_ways(nodes, {{"in", {"1,5,a", "2,5,b", "3,4,c"}}}), ElementsAre("1,5,a,0", "2,5,b,0", "3,4,c,1"));
}

TEST(scan, emits_where_a_condition_holds) {
  const std::vector<item> items = random_items(2000, 4);
  rows expected;
  int64_t sum = 0;
  for (const item& i : items) {
    sum += i.v;
    if (sum > 0) expected.push_back(fmt::format("{},{}", i.s, sum));
  }
  EXPECT_EQ(run_all_ways(pairs_in +
                             "x: {op: scan, in: in, with: {state: {sum: i64(0)}, set: {sum: sum + v}, when: sum > 0, "
                             "emit: {s: s, sum: sum}}}\n" +
                             out_of_x,
                         {{"in", as_text(items)}}),
            expected);
}

TEST(scan, emits_several_rows) {
  const std::vector<item> items = random_items(2000, 5);
  rows expected;
  uint64_t seen = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0 && items[i].k != items[i - 1].k) seen = 0;
    ++seen;
    if (seen % 5 == 0) continue;
    expected.push_back(fmt::format("{},{}", items[i].s, seen));
    if (items[i].v > 0) expected.push_back(fmt::format("{},{}", "twice", 2 * seen));
    expected.push_back(fmt::format("{},{}", items[i].s + "!", 0));
  }
  EXPECT_EQ(run_all_ways(pairs_in +
                             "x:\n"
                             "  op: scan\n"
                             "  in: in\n"
                             "  with:\n"
                             "    state: {seen: u64(0)}\n"
                             "    set: {seen: seen + 1}\n"
                             "    when: seen % 5 != 0\n"
                             "    emits: [{s: s, n: seen}, {s: \"'twice'\", n: 2 * seen, when: v > 0}, {s: "
                             "\"concat(s, '!')\", n: 0}]\n"
                             "    reset: [k]\n" +
                             out_of_x,
                         {{"in", as_text(items)}}),
            expected);
}

TEST(scan, emitted_rows_keep_what_order_they_share) {
  const std::string sorted = "in: {op: test.rows, with: {type: {k: u8, v: i32}, sorted_by: [k, v]}}\n";
  EXPECT_EQ(
      output_of(sorted + "x: {op: scan, in: in, with: {state: {n: 0}, emits: [{k: k, v: v}, {k: k, v: i32(n)}]}}\n" +
                    out_of_x,
                "x"),
      "{k: u8, v: i32} by k");
}

TEST(scan, reports_faults_of_ranks_and_emits) {
  const auto faults = [](const std::string& with) {
    return faults_of(pairs_in + "x: {op: scan, in: in, with: {" + with + "}}\n" + out_of_x);
  };
  EXPECT_THAT(faults("dense_rank: {r: [w]}"), ElementsAre(HasSubstr("'in' has no column 'w'")));
  EXPECT_THAT(faults("dense_rank: {r: []}"), ElementsAre(HasSubstr("needs columns to look at")));
  EXPECT_THAT(faults("min_rank: {v: [v]}"), ElementsAre(HasSubstr("there is a column 'v' already")));
  EXPECT_THAT(faults("dense_rank: {r: [v]}, min_rank: {r: [v]}"),
              ElementsAre(HasSubstr("there is a column 'r' already")));
  EXPECT_THAT(faults("min_rank: [v]"), ElementsAre(HasSubstr("'min_rank' is a list")));
  EXPECT_THAT(faults("dense_rank: {r: [v]}, state: {s: 0}"), ElementsAre(HasSubstr("either state or shorthands")));
  EXPECT_THAT(faults("when: v > 0"), ElementsAre(HasSubstr("need `state`")));
  EXPECT_THAT(faults("state: {c: 0}, when: v"), ElementsAre(HasSubstr("the condition is i32")));
  EXPECT_THAT(faults("state: {s: 0}, emit: {v: v}, emits: [{v: v}]"), ElementsAre(HasSubstr("either emit or emits")));
  EXPECT_THAT(faults("state: {s: 0}, emits: [{v: v}, {w: v}]"),
              ElementsAre(HasSubstr("entry 2 has no column 'v'"), HasSubstr("is not in the first entry")));
}

}  // namespace
}  // namespace flowrun::operators::testing
