// map, filter, split and flat_map: what is computed row by row.
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

std::vector<std::pair<uint64_t, int64_t>> random_pairs(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::pair<uint64_t, int64_t>> out;
  for (size_t i = 0; i < count; ++i) out.emplace_back(random() % 1000, static_cast<int64_t>(random() % 200) - 100);
  return out;
}

rows as_text(const std::vector<std::pair<uint64_t, int64_t>>& pairs) {
  rows out;
  for (const auto& [a, b] : pairs) out.push_back(fmt::format("{},{}", a, b));
  return out;
}

const std::string pairs_in = "in: {op: test.rows, with: {type: {a: u32, b: i16}}}\n";
const std::string words_in = "in: {op: test.rows, with: {type: {n: u8, s: string}}}\n";
const std::string out_of_x = "out: {op: test.sink, in: x}\n";

TEST(map, computes_columns) {
  const auto pairs = random_pairs(3000, 1);
  rows expected;
  for (const auto& [a, b] : pairs) expected.push_back(fmt::format("{},{},{}", b, a * 2 + 1, a));
  EXPECT_EQ(run_all_ways(pairs_in + "x: {op: map, in: in, with: {b: b, c: a * 2 + 1, d: a}}\n" + out_of_x,
                         {{"in", as_text(pairs)}}),
            expected);
}

TEST(map, counts_rows_across_batches) {
  const rows got = run_all_ways(pairs_in + "x: {op: map, in: in, with: {i: row_number}}\n" + out_of_x,
                                {{"in", as_text(random_pairs(100, 2))}});
  ASSERT_EQ(got.size(), 100u);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], std::to_string(i));
}

TEST(map, carries_strings) {
  EXPECT_THAT(run_all_ways(words_in + "x: {op: map, in: in, with: {t: s, long: \"concat(s, '!')\"}}\n" + out_of_x,
                           {{"in", {"1,x", "2,", "3,a longer text"}}}),
              ElementsAre("x,x!", ",!", "a longer text,a longer text!"));
}

TEST(map, keeps_the_order_of_columns_carried_over) {
  const std::string in = "in: {op: test.rows, with: {type: {a: u32, b: u32}, sorted_by: [a, -b]}}\n";
  EXPECT_EQ(output_of(in + "x: {op: map, in: in, with: {y: b, x: a}}\n" + out_of_x, "x"), "{y: u32, x: u32} by x, -y");
  EXPECT_EQ(output_of(in + "x: {op: map, in: in, with: {a: a + 1, b: b}}\n" + out_of_x, "x"),
            "{a: u64, b: u32} by nothing");
}

TEST(map, keeps_all_columns_but_some) {
  const std::string in = "in: {op: test.rows, with: {type: {a: u32, b: u32, s: string}, sorted_by: [a, -b]}}\n";
  const auto mapped = [&](const std::string& with) {
    return in + "x: {op: map, in: in, with: {" + with + "}}\n" + out_of_x;
  };
  EXPECT_EQ(output_of(mapped("'*': all"), "x"), "{a: u32, b: u32, s: string} by a, -b");
  EXPECT_EQ(output_of(mapped("c: a, '*': 'all but b , s'"), "x"), "{a: u32, c: u32} by a");
  EXPECT_EQ(output_of(mapped("t: s, b: u8(b), '*': all but s"), "x"), "{a: u32, b: u8, t: string} by a");
  EXPECT_EQ(output_of(mapped("'*': all but a, x: a"), "x"), "{b: u32, s: string, x: u32} by x, -b");
  EXPECT_THAT(run_all_ways(mapped("t: \"concat(s, '!')\", b: b + 1, '*': all but s"), {{"in", {"1,2,x", "3,4,y"}}}),
              ElementsAre("1,3,x!", "3,5,y!"));
  EXPECT_THAT(faults_of(mapped("'*': all but bb")), ElementsAre(HasSubstr("'in' has no column 'bb'")));
  EXPECT_THAT(faults_of(mapped("'*': but b")), ElementsAre(HasSubstr("'but b' says nothing about columns")));
  EXPECT_THAT(faults_of(mapped("'*': 'all but a, b, s'")), ElementsAre(HasSubstr("a map needs at least one column")));
}

TEST(map, reports_faults_in_expressions) {
  const auto faults = faults_of(pairs_in + "x: {op: map, in: in, with: {y: aa + 1, z: \"b +\"}}\n" + out_of_x);
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_THAT(faults[0], HasSubstr("2:32: "));
  EXPECT_THAT(faults[0], HasSubstr("aa"));
}

TEST(map, needs_a_column) {
  EXPECT_THAT(faults_of(pairs_in + "x: {op: map, in: in}\n" + out_of_x),
              ElementsAre(HasSubstr("a map needs at least one column")));
}

TEST(filter, keeps_rows) {
  const auto pairs = random_pairs(5000, 3);
  for (const char* where : {"a % 7 == 3", "a < 1000", "a > 5000"}) {
    rows expected;
    for (const auto& [a, b] : pairs)
      if (std::string(where) == "a % 7 == 3" ? a % 7 == 3 : std::string(where) == "a < 1000")
        expected.push_back(fmt::format("{},{}", a, b));
    EXPECT_EQ(run_all_ways(pairs_in + fmt::format("x: {{op: filter, in: in, with: {{where: {}}}}}\n", where) + out_of_x,
                           {{"in", as_text(pairs)}}),
              expected);
  }
}

TEST(filter, works_on_strings_and_row_numbers) {
  EXPECT_THAT(
      run_all_ways(words_in + "x: {op: filter, in: in, with: {where: \"s != 'b' and row_number < 3\"}}\n" + out_of_x,
                   {{"in", {"1,a", "2,b", "3,c", "4,d"}}}),
      ElementsAre("1,a", "3,c"));
}

TEST(filter, wants_a_condition) {
  EXPECT_THAT(faults_of(pairs_in + "x: {op: filter, in: in, with: {where: a + 1}}\n" + out_of_x),
              ElementsAre(HasSubstr("bool")));
}

TEST(filter, keeps_the_order) {
  const std::string in = "in: {op: test.rows, with: {type: {a: u32}, sorted_by: [-a]}}\n";
  EXPECT_EQ(output_of(in + "x: {op: filter, in: in, with: {where: a > 1}}\n" + out_of_x, "x"), "{a: u32} by -a");
}

rows sink_of(const std::string& nodes, const rows& in, const std::string& sink, uint64_t seed) {
  const run_options options{.seed = seed, .most_rows = 1 + seed * seed * 10, .batch_bytes = 100 * seed};
  return run(nodes, {{"in", in}}, options).sinks[sink];
}

TEST(split, deals_rows_out_to_the_first_port_that_matches) {
  const std::string nodes = pairs_in +
                            "x: {op: split, in: in, with: {ports: {low: a < 300, odd: a % 2 == 1}, rest: others}}\n"
                            "low: {op: test.sink, in: x.low}\n"
                            "odd: {op: test.sink, in: x.odd}\n"
                            "others: {op: test.sink, in: x.others}\n";
  const auto pairs = random_pairs(2000, 4);
  rows low, odd, others;
  for (const auto& [a, b] : pairs) (a < 300 ? low : a % 2 == 1 ? odd : others).push_back(fmt::format("{},{}", a, b));
  for (uint64_t seed = 1; seed < 5; ++seed) {
    EXPECT_EQ(sink_of(nodes, as_text(pairs), "low", seed), low);
    EXPECT_EQ(sink_of(nodes, as_text(pairs), "odd", seed), odd);
    EXPECT_EQ(sink_of(nodes, as_text(pairs), "others", seed), others);
  }
}

TEST(split, drops_the_rest_without_a_port_for_it) {
  const std::string nodes = words_in +
                            "x: {op: split, in: in, with: {ports: {b: \"s == 'b'\", first: row_number == 0}}}\n"
                            "b: {op: test.sink, in: x.b}\n"
                            "first: {op: test.sink, in: x.first}\n";
  const rows in = {"1,a", "2,b", "3,c", "4,b"};
  for (uint64_t seed = 1; seed < 5; ++seed) {
    EXPECT_THAT(sink_of(nodes, in, "b", seed), ElementsAre("2,b", "4,b"));
    EXPECT_THAT(sink_of(nodes, in, "first", seed), ElementsAre("1,a"));
  }
}

TEST(split, counts_the_rows) {
  const std::string nodes = words_in +
                            "x: {op: split, in: in, with: {ports: {third: row_number % 3 == 2}, rest: others}}\n"
                            "third: {op: test.sink, in: x.third}\n"
                            "others: {op: test.sink, in: x.others}\n";
  rows in, third, others;
  for (size_t i = 0; i < 2000; ++i) {
    in.push_back(fmt::format("{},{}", i % 7, i));
    (i % 3 == 2 ? third : others).push_back(in.back());
  }
  for (uint64_t seed = 1; seed < 5; ++seed) {
    EXPECT_EQ(sink_of(nodes, in, "third", seed), third);
    EXPECT_EQ(sink_of(nodes, in, "others", seed), others);
  }
}

TEST(split, refuses_a_port_with_two_meanings) {
  const auto faults = faults_of(
      pairs_in + "x: {op: split, in: in, with: {ports: {low: a < 3}, rest: low}}\nlow: {op: test.sink, in: x.low}\n");
  ASSERT_THAT(faults, ElementsAre(HasSubstr("the port 'low' has a condition already")));
  EXPECT_THAT(faults[0], HasSubstr("2:58:"));
}

TEST(split, reports_ports_that_nobody_reads) {
  const auto faults = faults_of(
      pairs_in + "x: {op: split, in: in, with: {ports: {low: a < 3, high: a > 3}}}\nlow: {op: test.sink, in: x.low}\n");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_THAT(faults[0], HasSubstr("high"));
}

TEST(flat_map, makes_one_row_per_entry) {
  const auto pairs = random_pairs(2000, 5);
  rows expected;
  for (const auto& [a, b] : pairs) {
    expected.push_back(fmt::format("{},{}", a, b));
    expected.push_back(fmt::format("{},{}", a, 7));
    expected.push_back(fmt::format("{},{}", 0, b));
  }
  EXPECT_EQ(
      run_all_ways(
          pairs_in + "x: {op: flat_map, in: in, with: {rows: [{x: a, y: b}, {y: 7, x: a}, {x: 0, y: b}]}}\n" + out_of_x,
          {{"in", as_text(pairs)}}),
      expected);
}

TEST(flat_map, leaves_out_entries_whose_condition_fails) {
  const auto pairs = random_pairs(2000, 6);
  rows expected;
  for (const auto& [a, b] : pairs) {
    if (a % 2 == 0) expected.push_back(fmt::format("{}", a));
    expected.push_back(fmt::format("{}", a + 1));
    if (b > 0) expected.push_back(fmt::format("{}", a + 2));
  }
  EXPECT_EQ(run_all_ways(pairs_in +
                             "x: {op: flat_map, in: in, with: {rows: [{v: u64(a), when: a % 2 == 0}, {v: a + 1}, {v: a "
                             "+ 2, when: b > 0}]}}\n" +
                             out_of_x,
                         {{"in", as_text(pairs)}}),
            expected);
}

TEST(flat_map, handles_strings_and_row_numbers) {
  EXPECT_THAT(run_all_ways(words_in +
                               "x: {op: flat_map, in: in, with: {rows: [{s: s, i: row_number}, {s: \"concat(s, s)\", "
                               "i: 9, when: n > 1}]}}\n" +
                               out_of_x,
                           {{"in", {"1,a", "2,b", "0,c"}}}),
              ElementsAre("a,0", "b,1", "bb,9", "c,2"));
}

// Of a batch that makes many bytes, a part is done at a time.
TEST(flat_map, counts_the_rows_of_long_batches) {
  rows in, expected;
  for (size_t i = 0; i < 5000; ++i) {
    in.push_back(fmt::format("{},{}", i % 2, std::string(i % 50, 'x')));
    expected.push_back(fmt::format("{}{},{}", in.back().substr(2), in.back().substr(2), i));
    if (i % 2 == 1) expected.push_back(fmt::format("odd,{}", i));
  }
  EXPECT_EQ(run_all_ways(words_in +
                             "x: {op: flat_map, in: in, with: {rows: [{s: \"concat(s, s)\", i: row_number}, "
                             "{s: \"'odd'\", i: row_number, when: n == 1}]}}\n" +
                             out_of_x,
                         {{"in", in}}),
            expected);
}

TEST(flat_map, keeps_the_order_of_columns_that_all_entries_carry_over) {
  const std::string in = "in: {op: test.rows, with: {type: {a: u32, b: u32}, sorted_by: [a, -b]}}\n";
  const auto by = [&](const std::string& rows) {
    return output_of(in + "x: {op: flat_map, in: in, with: {rows: " + rows + "}}\n" + out_of_x, "x");
  };
  EXPECT_EQ(by("[{a: a, b: b, c: a}, {a: a, b: b, c: b}]"), "{a: u32, b: u32, c: u32} by a, -b");
  EXPECT_EQ(by("[{c: a, d: u32(a), a: b}, {c: u32(7), d: a, a: b}]"), "{c: u32, d: u32, a: u32} by d, -a");
  EXPECT_EQ(by("[{a: a, b: b}, {a: b, b: b}]"), "{a: u32, b: u32} by nothing");
}

TEST(flat_map, wants_the_same_columns_everywhere) {
  EXPECT_THAT(faults_of(pairs_in + "x: {op: flat_map, in: in, with: {rows: [{x: a}, {y: a}]}}\n" + out_of_x),
              ElementsAre(HasSubstr("entry 2 has no column 'x'"),
                          HasSubstr("column 'y' of entry 2 is not in the first entry")));
  EXPECT_THAT(faults_of(pairs_in + "x: {op: flat_map, in: in, with: {rows: [{x: a}, {x: b}]}}\n" + out_of_x),
              ElementsAre(HasSubstr("'x' is i16 in entry 2 and u32 in the first")));
  EXPECT_THAT(faults_of(pairs_in + "x: {op: flat_map, in: in, with: {rows: [{x: u8(a)}, {x: 300}]}}\n" + out_of_x),
              ElementsAre(HasSubstr("u8")));
  EXPECT_THAT(faults_of(pairs_in + "x: {op: flat_map, in: in, with: {rows: [{x: a, when: a}]}}\n" + out_of_x),
              ElementsAre(HasSubstr("'when' of entry 1 is u32")));
}

TEST(flat_map, keeps_an_order_that_all_entries_keep) {
  const std::string in = "in: {op: test.rows, with: {type: {a: u32, b: u32}, sorted_by: [a, b]}}\n";
  EXPECT_EQ(output_of(in + "x: {op: flat_map, in: in, with: {rows: [{a: a, b: b}, {a: a, b: 0}]}}\n" + out_of_x, "x"),
            "{a: u32, b: u32} by a");
}

TEST(generate, is_sorted_by_the_number_of_the_row_as_far_as_it_fits_the_column) {
  const auto output = [](const std::string& with) {
    return output_of("x: {op: generate, with: {" + with + "}}\n" + out_of_x, "x");
  };
  EXPECT_EQ(output("rows: 256, columns: {b: i * 2, a: u8(i)}"), "{b: u64, a: u8} by a");
  EXPECT_EQ(output("rows: 257, columns: {a: u8(i)}"), "{a: u8} by nothing");
  EXPECT_EQ(output("rows: 1, first: 256, columns: {a: u8(i)}"), "{a: u8} by nothing");
  EXPECT_EQ(output("rows: 4294967296, columns: {a: u32(i)}"), "{a: u32} by a");
  EXPECT_EQ(output("rows: 9, columns: {a: u8(i + 255)}"), "{a: u8} by nothing");
  EXPECT_EQ(output("rows: 9, columns: {a: i8(i)}"), "{a: i8} by nothing");
}

}  // namespace
}  // namespace flowrun::operators::testing
