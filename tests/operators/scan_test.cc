// scan and window: rows with a state, and with their neighbours.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "engine/base/error.h"
#include "tests/operators/harness.h"

namespace flowrun::operators::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string pairs_in = "in: {op: test.rows, with: {type: {k: u8, v: i32}}}\n";
const std::string out_of_x = "out: {op: test.sink, in: x}\n";

struct pair {
  int k;
  int64_t v;
};
std::vector<pair> random_pairs(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<pair> out;
  int k = 0;
  for (size_t i = 0; i < count; ++i) {
    if (random() % 4 == 0) k = static_cast<int>(random() % 3);
    out.push_back({k, static_cast<int64_t>(random() % 2001) - 1000});
  }
  return out;
}
rows as_text(const std::vector<pair>& pairs) {
  rows out;
  for (const pair& p : pairs) out.push_back(fmt::format("{},{}", p.k, p.v));
  return out;
}

TEST(scan, numbers_rows) {
  const auto pairs = random_pairs(3000, 1);
  rows expected;
  for (size_t i = 0; i < pairs.size(); ++i) expected.push_back(fmt::format("{},{},{}", pairs[i].k, pairs[i].v, i));
  EXPECT_EQ(run_all_ways(pairs_in + "x: {op: scan, in: in, with: {number: n}}\n" + out_of_x, {{"in", as_text(pairs)}}),
            expected);
}

TEST(scan, numbers_and_sums_within_groups) {
  const auto pairs = random_pairs(3000, 2);
  for (const bool exclusive : {false, true}) {
    rows expected;
    uint64_t number = 0;
    int64_t sum = 0, twice = 0;
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (i > 0 && pairs[i].k != pairs[i - 1].k) number = 0, sum = twice = 0;
      const int64_t next = sum + pairs[i].v;
      const int64_t next_twice = twice + 2 * pairs[i].v;
      expected.push_back(fmt::format("{},{},{},{},{}", pairs[i].k, pairs[i].v, number, exclusive ? sum : next,
                                     exclusive ? twice : next_twice));
      ++number;
      sum = next;
      twice = next_twice;
    }
    EXPECT_EQ(run_all_ways(pairs_in +
                               fmt::format("x: {{op: scan, in: in, with: {{number: n, prefix_sum: {{s: v, t: v * 2}}, "
                                           "exclusive: {}, reset: [k]}}}}\n",
                                           exclusive) +
                               out_of_x,
                           {{"in", as_text(pairs)}}),
              expected);
  }
}

TEST(scan, shorthands_carry_strings_and_sum_floats) {
  const std::string nodes =
      "in: {op: test.rows, with: {type: {s: string, f: f32}}}\n"
      "x: {op: scan, in: in, with: {prefix_sum: {t: f}, reset: [s]}}\n" +
      out_of_x;
  EXPECT_THAT(run_all_ways(nodes, {{"in", {"a,0.5", "a,1", "bb,2", "bb,-0.5", ",1"}}}),
              ElementsAre("a,0.5,0.5", "a,1,1.5", "bb,2,2", "bb,-0.5,1.5", ",1,1"));
}

// One notion of equal keys, for both forms and for group: equal bits, so that -0 differs from 0 and no NaN from itself.
TEST(scan, resets_where_float_keys_change) {
  const std::string in = "in: {op: test.rows, with: {type: {f: f64}}}\n";
  const rows keys = {"0", "-0", "-0", "0", "nan", "nan", "1"};
  const rows expected = {"0,0", "-0,0", "-0,1", "0,0", "nan,0", "nan,1", "1,0"};
  EXPECT_EQ(run_all_ways(in + "x: {op: scan, in: in, with: {number: n, reset: [f]}}\n" + out_of_x, {{"in", keys}}),
            expected);
  EXPECT_EQ(run_all_ways(in +
                             "x: {op: scan, in: in, with: {state: {next: \"0\"}, set: {next: next + 1}, "
                             "emit: {f: f, n: next - 1}, reset: [f]}}\n" +
                             out_of_x,
                         {{"in", keys}}),
            expected);
}

TEST(scan, runs_a_state_through_the_rows) {
  const auto pairs = random_pairs(3000, 3);
  rows expected;
  int64_t most = -5000, steps = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (i > 0 && pairs[i].k != pairs[i - 1].k) most = -5000, steps = 0;
    steps = pairs[i].v > most ? steps + 1 : steps;
    most = std::max(most, pairs[i].v);
    expected.push_back(fmt::format("{},{},{},{}", pairs[i].k, most, steps, i));
  }
  EXPECT_EQ(run_all_ways(pairs_in +
                             "x:\n"
                             "  op: scan\n"
                             "  in: in\n"
                             "  with:\n"
                             "    state: {most: \"i64(-5000)\", steps: i64(0)}\n"
                             "    set: {steps: \"if(v > most, steps + 1, steps)\", most: \"max(most, v)\"}\n"
                             "    emit: {k: k, most: most, steps: steps, i: row_number}\n"
                             "    reset: [k]\n" +
                             out_of_x,
                         {{"in", as_text(pairs)}}),
            expected);
}

TEST(scan, emits_the_row_and_the_state_by_default) {
  const std::string nodes = pairs_in + "x: {op: scan, in: in, with: {state: {n: 0}, set: {n: n + 1}}}\n" + out_of_x;
  EXPECT_THAT(run_all_ways(nodes, {{"in", {"1,5", "2,-6"}}}), ElementsAre("1,5,1", "2,-6,2"));
  EXPECT_EQ(output_of(nodes, "x"), "{k: u8, v: i32, n: u64} by nothing");
}

TEST(scan, keeps_orders_and_makes_one) {
  EXPECT_EQ(output_of(pairs_in + "x: {op: scan, in: in, with: {number: n}}\n" + out_of_x, "x"),
            "{k: u8, v: i32, n: u64} by n");
  const std::string sorted = "in: {op: test.rows, with: {type: {k: u8, v: i32}, sorted_by: [k, -v]}}\n";
  EXPECT_EQ(output_of(sorted + "x: {op: scan, in: in, with: {number: n}}\n" + out_of_x, "x"),
            "{k: u8, v: i32, n: u64} by k, -v");
  EXPECT_EQ(output_of(sorted + "x: {op: scan, in: in, with: {state: {s: 0}, emit: {key: k, s: s}}}\n" + out_of_x, "x"),
            "{key: u8, s: u64} by key");
}

TEST(scan, reports_faults) {
  const auto faults = [](const std::string& with) {
    return faults_of(pairs_in + "x: {op: scan, in: in, with: {" + with + "}}\n" + out_of_x);
  };
  EXPECT_THAT(faults(""), ElementsAre(HasSubstr("a scan needs something to do")));
  EXPECT_THAT(faults("number: n, state: {s: 0}"), ElementsAre(HasSubstr("either state or shorthands")));
  EXPECT_THAT(faults("set: {s: 1}"), ElementsAre(HasSubstr("need `state`")));
  EXPECT_THAT(faults("state: {count: 0}, set: {cont: 1}"),
              ElementsAre(AllOf(HasSubstr("'cont' is not a variable"), HasSubstr("did you mean 'count'"))));
  EXPECT_THAT(faults("state: {s: k}").at(0), HasSubstr("k"));
  EXPECT_THAT(faults("state: {s: \"'a'\"}, set: {s: v}"), ElementsAre(HasSubstr("'v' is i32")));
  EXPECT_THAT(faults("number: v"), ElementsAre(HasSubstr("there is a column 'v' already")));
  EXPECT_THAT(faults("prefix_sum: {s: v > 1}"), ElementsAre(HasSubstr("'v > 1' is bool")));
  EXPECT_THAT(faults("number: n, exclusive: true"), ElementsAre(HasSubstr("no prefix sum")));
}

TEST(window, looks_at_neighbours) {
  const auto pairs = random_pairs(2500, 4);
  const auto at = [&](int64_t i) {
    return i < 0 || i >= static_cast<int64_t>(pairs.size()) ? pair{0, 7} : pairs[static_cast<size_t>(i)];
  };
  rows expected;
  for (int64_t i = 0; i < static_cast<int64_t>(pairs.size()); ++i)
    expected.push_back(
        fmt::format("{},{},{},{},{}", at(i).k, at(i).v, at(i).v - at(i - 1).v, at(i + 2).v + at(i - 3).v, at(i + 1).k));
  EXPECT_EQ(
      run_all_ways(pairs_in +
                       "x: {op: window, in: in, with: {before: 3, after: 2, pad: {v: 7},\n"
                       "    let: {step: \"v - row[-1].v\", wide: \"row[2].v + row[-3].v\", next: \"row[1].k\"}}}\n" +
                       out_of_x,
                   {{"in", as_text(pairs)}}),
      expected);
}

TEST(window, gives_every_so_many_rows) {
  for (const size_t count : {0U, 1U, 6U, 7U, 8U, 2500U})
    for (const int64_t every : {1, 2, 7, 3000}) {
      const auto pairs = random_pairs(count, 4);
      const auto at = [&](int64_t i) {
        return i < 0 || i >= static_cast<int64_t>(pairs.size()) ? pair{0, 7} : pairs[static_cast<size_t>(i)];
      };
      rows expected;
      for (int64_t i = 0; i < static_cast<int64_t>(pairs.size()); i += every)
        expected.push_back(
            fmt::format("{},{},{},{},{},{}", at(i).k, at(i).v, at(i - 1).v, at(i + 1).v, at(i + 8).k, i / every));
      const std::string with = fmt::format("before: 1, after: 8, pad: {{v: 7}}, every: {}", every);
      EXPECT_EQ(run_all_ways(pairs_in + "x: {op: window, in: in, with: {" + with +
                                 ",\n    let: {p: \"row[-1].v\", n: \"row[1].v\", e: \"row[8].k\", i: row_number}}}\n" +
                                 out_of_x,
                             {{"in", as_text(pairs)}}),
                expected)
          << count << " rows, every " << every;
    }
  const std::string strings =
      "in: {op: test.rows, with: {type: {s: string}}}\n"
      "x: {op: window, in: in, with: {after: 1, every: 2, let: {n: \"row[1].s\"}}}\n" +
      out_of_x;
  EXPECT_THAT(run_all_ways(strings, {{"in", {"a", "bb", "", "dddd", "e"}}}), ElementsAre("a,bb", ",dddd", "e,"));
}

TEST(window, looks_within_groups) {
  for (const auto& [longest, every] :
       std::vector<std::pair<size_t, size_t>>{{1, 1}, {4, 1}, {4, 3}, {700, 1}, {9, 5}}) {
    std::mt19937_64 random(longest);
    rows in, expected;
    std::vector<std::array<size_t, 3>> all;  // the group, its begin and its end
    for (size_t k = 0; all.size() < 2500; ++k) {
      const size_t begin = all.size(), length = 1 + random() % longest;
      for (size_t i = 0; i < length; ++i) all.push_back({k, begin, begin + length});
    }
    for (size_t i = 0; i < all.size(); ++i)
      in.push_back(fmt::format("{},{},{}", all[i][0] % 2, i, std::string(i % 5, 's')));
    for (size_t i = 0; i < all.size(); i += every) {
      const auto at = [&, i = i](size_t place) { return place >= all[i][1] && place < all[i][2] ? place : 70000; };
      const auto text = [&](size_t place) { return at(place) == place ? std::string(place % 5, 's') : "none"; };
      expected.push_back(
          fmt::format("{},{},{},{},{},{}", in[i], at(i - 1), at(i + 2), at(i - 3), text(i + 1), i / every));
    }
    const std::string nodes =
        fmt::format(
            "in: {{op: test.rows, with: {{type: {{k: u8, n: u32, s: string}}}}}}\n"
            "x: {{op: window, in: in, with: {{before: 3, after: 2, every: {}, reset: [k], pad: {{n: 70000, s: "
            "\"'none'\"}},\n    let: {{a: \"row[-1].n\", b: \"row[2].n\", c: \"row[-3].n\", d: \"row[1].s\", i: "
            "row_number}}}}}}\n",
            every) +
        out_of_x;
    EXPECT_EQ(run_all_ways(nodes, {{"in", in}}), expected) << longest << ", " << every;
  }
  const std::string numbers =
      "in: {op: test.rows, with: {type: {k: u8, n: u32}, sorted_by: [k]}}\n"
      "x: {op: window, in: in, with: {after: 1, reset: [k], let: {next: \"row[1].n\"}}}\n" +
      out_of_x;
  EXPECT_THAT(run_all_ways(numbers, {{"in", {"1,5", "1,6", "2,7", "3,8", "3,9"}}}),
              ElementsAre("1,5,6", "1,6,0", "2,7,0", "3,8,9", "3,9,0"));
  EXPECT_THAT(run_all_ways(numbers, {{"in", {}}}), IsEmpty());
}

TEST(window, carries_strings) {
  const std::string nodes =
      "in: {op: test.rows, with: {type: {s: string, n: u8}, sorted_by: [n]}}\n"
      "x: {op: window, in: in, with: {before: 1, after: 1, pad: {s: \"'none'\"}, let: {p: \"row[-1].s\", q: "
      "\"concat(s, row[1].s)\"}}}\n" +
      out_of_x;
  EXPECT_THAT(run_all_ways(nodes, {{"in", {"a,1", "bb,2", ",3", "dddd,4"}}}),
              ElementsAre("a,1,none,abb", "bb,2,a,bb", ",3,bb,dddd", "dddd,4,,ddddnone"));
  EXPECT_THAT(run_all_ways(nodes, {{"in", {"a,1"}}}), ElementsAre("a,1,none,anone"));
  EXPECT_THAT(run_all_ways(nodes, {{"in", {}}}), IsEmpty());
  EXPECT_EQ(output_of(nodes, "x"), "{s: string, n: u8, p: string, q: string} by n");
}

TEST(window, may_be_wider_than_the_stream) {
  const std::string nodes = pairs_in +
                            "x: {op: window, in: in, with: {before: 100, after: 100, let: {f: \"row[-100].v\", l: "
                            "\"row[2].v\", i: row_number}}}\n" +
                            out_of_x;
  EXPECT_THAT(run_all_ways(nodes, {{"in", {"1,5", "2,6", "3,7"}}}), ElementsAre("1,5,0,7,0", "2,6,0,0,1", "3,7,0,0,2"));
}

TEST(window, keeps_long_strings_no_longer_than_needed) {
  const std::string nodes =
      "in: {op: test.rows, with: {type: {s: string, n: u32}}}\n"
      "x: {op: window, in: in, with: {before: 1, let: {p: \"row[-1].s\"}}}\n" +
      out_of_x;
  rows input, expected;
  std::string last;
  for (int i = 0; i < 400; ++i) {  // 8 MB of text through 64 KiB of memory
    const std::string s(i % 100 == 0 ? 0 : static_cast<size_t>(20000 + i), static_cast<char>('a' + i % 26));
    input.push_back(fmt::format("{},{}", s, i));
    expected.push_back(fmt::format("{},{},{}", s, i, last));
    last = s;
  }
  EXPECT_EQ(run(nodes, {{"in", input}}, {.most_rows = 3, .memory_bytes = 64 * 1024}).sinks["out"], expected);
}

TEST(window, ends_when_strings_outgrow_its_memory) {
  const std::string nodes =
      "in: {op: test.rows, with: {type: {s: string, n: u32}}}\n"
      "x: {op: window, in: in, with: {before: 100, let: {p: \"row[-100].n\"}}}\n" +
      out_of_x;
  rows input;
  for (int i = 0; i < 300; ++i) input.push_back(std::string(1000, 'a') + fmt::format(",{}", i));
  const run_options enough{.most_rows = 10, .memory_bytes = 256 * 1024};
  EXPECT_EQ(run(nodes, {{"in", input}}, enough).sinks["out"].size(), 300U);
  try {
    run(nodes, {{"in", input}}, {.most_rows = 10, .memory_bytes = 64 * 1024});
    FAIL() << "no error";
  } catch (const error& e) {
    EXPECT_EQ(e.kind(), error_kind::resources);
    EXPECT_THAT(e.what(), HasSubstr("node 'x'"));
    EXPECT_THAT(e.hint(), HasSubstr("raise the memory budget"));
  }
}

TEST(window, reports_faults) {
  const auto faults = [](const std::string& with) {
    return faults_of(pairs_in + "x: {op: window, in: in, with: {" + with + "}}\n" + out_of_x);
  };
  EXPECT_THAT(faults("before: 1, let: {v: \"row[-1].v\"}"), ElementsAre(HasSubstr("the input has a column 'v'")));
  EXPECT_THAT(faults("before: 1, let: {w: \"row[-2].v\"}").at(0), HasSubstr("2:"));
  EXPECT_THAT(faults("before: 1, pad: {u: 1}, let: {w: \"row[-1].v\"}"),
              ElementsAre(HasSubstr("'in' has no column 'u'")));
  EXPECT_THAT(faults("before: 1, pad: {v: \"'a'\"}, let: {w: \"row[-1].v\"}"), ElementsAre(HasSubstr("i32")));
  EXPECT_THAT(faults("before: 1, reset: [u], let: {w: \"row[-1].v\"}"), ElementsAre(HasSubstr("no column 'u'")));
  EXPECT_THAT(faults("every: 0, before: 1, let: {w: \"row[-1].v\"}"), ElementsAre(HasSubstr("1 or more")));
  EXPECT_THAT(faults("before: 10000000, let: {w: \"row[-1].v\"}"), ElementsAre(HasSubstr("too wide")));
}

}  // namespace
}  // namespace flowrun::operators::testing
