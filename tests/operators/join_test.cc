// join against nested loops, for every kind, and what its check refuses.
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

const std::string out_of_x = "out: {op: test.sink, in: x}\n";

std::string left_right(const std::string& left, const std::string& left_by, const std::string& right,
                       const std::string& right_by) {
  return fmt::format("l: {{op: test.rows, with: {{type: {}, sorted_by: {}}}}}\n", left, left_by) +
         fmt::format("r: {{op: test.rows, with: {{type: {}, sorted_by: {}}}}}\n", right, right_by);
}

struct keyed {
  int64_t k;
  std::string s;  // part of the key
  std::string payload;
};

std::vector<keyed> random_side(std::mt19937_64& random, size_t count, int64_t num_keys, const std::string& prefix,
                               bool descending) {
  std::vector<keyed> out;
  for (size_t i = 0; i < count; ++i)
    out.push_back({static_cast<int64_t>(random() % static_cast<uint64_t>(num_keys)) - num_keys / 2,
                   std::string(random() % 12, 'x'), fmt::format("{}{}", prefix, random() % 100)});
  std::stable_sort(out.begin(), out.end(), [&](const keyed& a, const keyed& b) {
    if (a.k != b.k) return descending ? a.k > b.k : a.k < b.k;
    return a.s < b.s;
  });
  return out;
}

// What nested loops give.
rows naive(const std::vector<keyed>& left, const std::vector<keyed>& right, const std::string& kind, bool descending) {
  rows out;
  const auto same = [](const keyed& a, const keyed& b) { return a.k == b.k && a.s == b.s; };
  const auto before = [&](const keyed& a, const keyed& b) {
    if (a.k != b.k) return descending ? a.k > b.k : a.k < b.k;
    return a.s < b.s;
  };
  size_t next_right = 0;  // for full: right rows before this one are out
  const auto right_only_until = [&](const keyed* limit) {
    for (; next_right < right.size() && (limit == nullptr || before(right[next_right], *limit)); ++next_right) {
      const keyed& r = right[next_right];
      const bool found = std::any_of(left.begin(), left.end(), [&](const keyed& l) { return same(l, r); });
      if (!found && kind == "full") out.push_back(fmt::format("{},{},,{},2", r.k, r.s, r.payload));
    }
  };
  for (const keyed& l : left) {
    right_only_until(&l);
    bool found = false;
    for (const keyed& r : right) {
      if (!same(l, r)) continue;
      found = true;
      if (kind == "inner" || kind == "left" || kind == "full")
        out.push_back(fmt::format("{},{},{},{},3", l.k, l.s, l.payload, r.payload));
    }
    if ((kind == "left" || kind == "full") && !found) out.push_back(fmt::format("{},{},{},,1", l.k, l.s, l.payload));
    if ((kind == "semi" && found) || (kind == "anti" && !found))
      out.push_back(fmt::format("{},{},{}", l.k, l.s, l.payload));
  }
  right_only_until(nullptr);
  return out;
}

TEST(join, gives_columns_of_right_other_names) {
  const auto nodes = [](const std::string& with) {
    return left_right("{k: u8, v: string}", "[k]", "{id: u8, v: string, k: u16}", "[id]") +
           "x: {op: join, in: {left: l, right: r}, with: {by: {k: id}, " + with + "}}\n" + out_of_x;
  };
  const std::string renamed = nodes("kind: full, matched: m, rename: {v: w, k: k2}");
  EXPECT_THAT(run_all_ways(renamed, {{"l", {"1,a", "2,b"}}, {"r", {"2,c,9", "3,d,8"}}}),
              ElementsAre("1,a,,0,1", "2,b,c,9,3", "3,,d,8,2"));
  EXPECT_EQ(output_of(renamed, "x"), "{k: u8, v: string, w: string, k2: u16, m: u8} by k");
  EXPECT_THAT(faults_of(nodes("rename: {id: i, v: w, k: k2}")), ElementsAre(HasSubstr("'id' is a key")));
  EXPECT_THAT(faults_of(nodes("rename: {v: w, k: k2}, matched: w")),
              ElementsAre(HasSubstr("the output has a column 'w' already")));
  EXPECT_THAT(faults_of(nodes("rename: {v: w}, kind: semi")), ElementsAre(HasSubstr("rows of left only")));
  EXPECT_THAT(faults_of(nodes("rename: {v: w}")), ElementsAre(HasSubstr("with: {rename: {k: r_k}}")));
}

TEST(join, is_what_nested_loops_give) {
  std::mt19937_64 random(7);
  for (const char* kind : {"inner", "left", "full", "semi", "anti"}) {
    const bool one_sided = std::string(kind) == "semi" || std::string(kind) == "anti";
    for (const bool descending : {false, true}) {
      for (const auto& [num_left, num_right, num_keys] :
           {std::tuple{0, 0, 1}, {40, 0, 5}, {0, 40, 5}, {60, 60, 3}, {300, 200, 40}, {100, 100, 2000}}) {
        const auto left = random_side(random, static_cast<size_t>(num_left), num_keys, "L", descending);
        const auto right = random_side(random, static_cast<size_t>(num_right), num_keys, "R", descending);
        std::map<std::string, rows> inputs{{"l", {}}, {"r", {}}};
        for (const keyed& l : left) inputs["l"].push_back(fmt::format("{},{},{}", l.k, l.s, l.payload));
        for (const keyed& r : right) inputs["r"].push_back(fmt::format("{},{},{}", r.payload, r.k, r.s));
        const rows expected = naive(left, right, kind, descending);
        for (const bool skip : {false, true}) {
          if (skip && std::string(kind) == "full") continue;
          const std::string nodes =
              left_right("{k: i32, s: string, lp: string}", descending ? "[-k, s]" : "[k, s]",
                         "{rp: string, key: i32, t: string}", descending ? "[-key, t]" : "[key, t]") +
              fmt::format("x: {{op: join, in: {{left: l, right: r}}, with: {{by: {{k: key, s: t}}, kind: {}{}{}}}}}\n",
                          kind, one_sided ? "" : ", matched: m", skip ? ", skip: true" : "") +
              out_of_x;
          EXPECT_EQ(run_all_ways(nodes, inputs), expected)
              << kind << " " << num_left << " " << num_right << " " << num_keys << " " << skip;
          const run_options spilling{.seed = 6, .most_rows = 50, .batch_bytes = 2000, .force_spill = true};
          EXPECT_EQ(run(nodes, inputs, spilling).sinks["out"], expected)
              << kind << " " << num_left << " " << num_right << " " << num_keys << " " << skip;
        }
      }
    }
  }
}

// A breadth-first search in which the anti join with the level before seeks: `prev` is `cur` of the iteration before.
TEST(join, skips_in_a_stream_that_was_another_one) {
  rows edges;
  for (int i = 0; i < 40; ++i) edges.push_back(fmt::format("{},{}", i, i + 1));
  const std::string nodes =
      "edges: {op: test.rows, with: {type: {src: u32, dst: u32}, sorted_by: [src]}}\n"
      "x:\n"
      "  op: loop\n"
      "  in: {edges: edges}\n"
      "  with:\n"
      "    carry: {prev: {rows: [], type: {node: u32}}, cur: {rows: [{node: 0}], type: {node: u32}}}\n"
      "    body:\n"
      "      reached: {op: join, in: {left: cur, right: edges}, with: {by: {node: src}, skip: true}}\n"
      "      next: {op: map, in: reached, with: {node: dst}}\n"
      "      sorted: {op: sort, in: next, with: {by: [node], unique: true}}\n"
      "      fresh: {op: join, in: {left: sorted, right: cur}, with: {by: [node], kind: anti}}\n"
      "      new: {op: join, in: {left: fresh, right: prev}, with: {by: [node], kind: anti, skip: true}}\n"
      "    next: {prev: cur, cur: new}\n"
      "    until: \"rows(new) == 0\"\n"
      "    collect: {out: new}\n"
      "out: {op: test.sink, in: x.out}\n";
  rows expected;
  for (int i = 1; i <= 40; ++i) expected.push_back(std::to_string(i));
  EXPECT_EQ(run_all_ways(nodes, {{"edges", edges}}), expected);
}

TEST(join, skips_many_rows_for_a_few) {
  rows left, right, expected;
  for (int i = 0; i < 60000; ++i)
    for (int k = 0; k <= i % 3; ++k) right.push_back(fmt::format("{},{}", 2 * i, k));
  for (int i = 0; i < 120000; i += 1 + i / 7) {
    left.push_back(fmt::format("{},{}", i, i % 5));
    for (int k = 0; i % 2 == 0 && k <= i / 2 % 3; ++k) expected.push_back(fmt::format("{},{},{}", i, i % 5, k));
  }
  const std::string nodes = left_right("{k: u64, a: u64}", "[k]", "{k: u64, b: u64}", "[k, b]") +
                            "x: {op: join, in: {left: l, right: r}, with: {by: [k], skip: true}}\n" + out_of_x;
  for (const bool force_spill : {false, true}) {
    const run_options options{.most_rows = 20000, .memory_bytes = 256 * 1024, .force_spill = force_spill};
    EXPECT_EQ(run(nodes, {{"l", left}, {"r", right}}, options).sinks["out"], expected);
  }
}

const std::string numbers = left_right("{k: u64, a: u64}", "[k]", "{k: u64, b: u64}", "[k]");

TEST(join, streams_a_large_group_past_one_left_row) {
  rows right, expected;
  for (int i = 0; i < 5000; ++i) {
    right.push_back(fmt::format("5,{}", i));
    expected.push_back(fmt::format("5,1,{}", i));
  }
  const std::string nodes = numbers + "x: {op: join, in: {left: l, right: r}, with: {by: [k]}}\n" + out_of_x;
  const run_options tight{.seed = 1, .most_rows = 300, .batch_bytes = 4096, .memory_bytes = 8 * 1024};
  EXPECT_EQ(run(nodes, {{"l", {"3,0", "5,1", "6,2"}}, {"r", right}}, tight).sinks["out"], expected);
  try {
    run(nodes, {{"l", {"3,0", "5,1", "5,2"}}, {"r", right}}, tight);
    FAIL() << "no error";
  } catch (const error& e) {
    EXPECT_EQ(e.kind(), error_kind::resources);
    EXPECT_THAT(e.what(), HasSubstr("'r' has more rows of one key than fit its memory"));
    EXPECT_THAT(e.hint(), HasSubstr("swap left and right"));
  }
}

TEST(join, counts_the_strings_of_a_group) {
  const std::string nodes = left_right("{k: u64, a: u64}", "[k]", "{k: u64, b: string}", "[k]") +
                            "x: {op: join, in: {left: l, right: r}, with: {by: [k]}}\n" + out_of_x;
  rows right;
  for (int i = 0; i < 100; ++i) right.push_back("5," + std::string(1000, 'x'));
  const rows left{"5,1", "5,2"};
  run_options options{.most_rows = 7, .batch_bytes = 4096, .memory_bytes = 256 * 1024};
  EXPECT_EQ(run(nodes, {{"l", left}, {"r", right}}, options).sinks["out"].size(), 200U);
  options.memory_bytes = 16 * 1024;
  try {
    run(nodes, {{"l", left}, {"r", right}}, options);
    FAIL() << "no error";
  } catch (const error& e) {
    EXPECT_EQ(e.kind(), error_kind::resources);
  }
}

TEST(join, keeps_groups_that_span_batches) {
  rows left, right, expected;
  for (int i = 0; i < 20; ++i) left.push_back(fmt::format("5,{}", i));
  for (int j = 0; j < 300; ++j) right.push_back(fmt::format("5,{}", j));
  for (int i = 0; i < 20; ++i)
    for (int j = 0; j < 300; ++j) expected.push_back(fmt::format("5,{},{}", i, j));
  EXPECT_EQ(run_all_ways(numbers + "x: {op: join, in: {left: l, right: r}, with: {by: [k]}}\n" + out_of_x,
                         {{"l", left}, {"r", right}}),
            expected);
}

TEST(join, gives_keys_then_both_sides) {
  EXPECT_EQ(
      output_of(
          numbers + "x: {op: join, in: {left: l, right: r}, with: {by: [k], kind: left, matched: found}}\n" + out_of_x,
          "x"),
      "{k: u64, a: u64, b: u64, found: u8} by k");
  EXPECT_EQ(
      output_of(numbers + "x: {op: join, in: {left: l, right: r}, with: {by: [k], kind: anti}}\n" + out_of_x, "x"),
      "{k: u64, a: u64} by k");
  const std::string nodes = left_right("{k: u64, a: u64}", "[k, -a]", "{k: u64, b: u64}", "[k]");
  EXPECT_EQ(output_of(nodes + "x: {op: join, in: {left: l, right: r}, with: {by: [k]}}\n" + out_of_x, "x"),
            "{k: u64, a: u64, b: u64} by k, -a");
  EXPECT_EQ(output_of(nodes + "x: {op: join, in: {left: l, right: r}, with: {by: [k], kind: full}}\n" + out_of_x, "x"),
            "{k: u64, a: u64, b: u64} by k");
}

TEST(join, takes_keys_in_the_sequence_they_are_sorted_by) {
  const std::string nodes = left_right("{a: u8, b: u8}", "[b, -a]", "{a: u8, b: u8, c: u8}", "[b, -a]") +
                            "x: {op: join, in: {left: l, right: r}, with: {by: [a, b]}}\n" + out_of_x;
  EXPECT_THAT(run_all_ways(nodes, {{"l", {"9,1", "2,1", "5,2"}}, {"r", {"2,1,7", "1,1,8", "5,2,9"}}}),
              ElementsAre("2,1,7", "5,2,9"));
}

TEST(join, needs_both_sides_sorted) {
  const std::string join = "x: {op: join, in: {left: l, right: r}, with: {by: [k]}}\n" + out_of_x;
  const auto faults = faults_of(
      "l: {op: test.rows, with: {type: {k: u8}, sorted_by: [-k]}}\n"
      "r: {op: test.rows, with: {type: {k: u8, b: u8}, sorted_by: [k]}}\n" +
      join);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_THAT(faults[0], HasSubstr("'r'"));
  EXPECT_THAT(faults[0], HasSubstr("-k"));
  EXPECT_EQ(
      faults_of("l: {op: test.rows, with: {type: {k: u8}}}\nr: {op: test.rows, with: {type: {k: u8, b: u8}}}\n" + join)
          .size(),
      2u);
}

TEST(join, refuses_keys_of_different_types_and_columns_that_clash) {
  EXPECT_THAT(faults_of(left_right("{k: u32, a: u8}", "[k]", "{j: u64, b: u8}", "[j]") +
                        "x: {op: join, in: {left: l, right: r}, with: {by: {k: j}}}\n" + out_of_x),
              ElementsAre(AllOf(HasSubstr("'k' is u32 on the left, 'j' is u64 on the right"),
                                HasSubstr("k: u64(k) in front of the sort of the left input"))));
  EXPECT_THAT(faults_of(left_right("{k: u32, a: u8}", "[k]", "{k: u32, a: u8}", "[k]") +
                        "x: {op: join, in: {left: l, right: r}, with: {by: [k]}}\n" + out_of_x),
              ElementsAre(HasSubstr("both 'l' and 'r' have a column 'a'")));
  EXPECT_THAT(faults_of(numbers + "x: {op: join, in: {left: l, right: r}, with: {by: [k], matched: a}}\n" + out_of_x),
              ElementsAre(HasSubstr("the output has a column 'a' already")));
  EXPECT_THAT(faults_of(numbers + "x: {op: join, in: {left: l, right: r}, with: {by: [k], kind: semi, matched: m}}\n" +
                        out_of_x),
              ElementsAre(HasSubstr("semi and anti joins give rows of left only")));
  EXPECT_THAT(faults_of(numbers + "x: {op: join, in: {left: l, right: r}, with: {by: [k], kind: full, skip: true}}\n" +
                        out_of_x),
              ElementsAre(HasSubstr("a full join gives every right row")));
  EXPECT_THAT(faults_of(numbers + "x: {op: join, in: {left: l, right: r}, with: {by: [kk]}}\n" + out_of_x).at(0),
              HasSubstr("kk"));
}

}  // namespace
}  // namespace flowrun::operators::testing
