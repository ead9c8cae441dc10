// Conditions over pairs of rows, against the same condition as a column of the pair's row.
#include "engine/expr/pair_condition.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/engine/expr/program_harness.h"

namespace flowrun::expr {
namespace {

using testing::row;
using side = pair_binding::side;

const record::row_type left =
    testing::type_of({{"u", "u16"}, {"i", "i32"}, {"f", "f32"}, {"s", "string"}, {"b", "bool"}});
const record::row_type right = testing::type_of({{"s", "string"}, {"i", "i32"}, {"u", "u16"}});
const record::row_type both = testing::type_of({{"a.u", "u16"},
                                                {"a.i", "i32"},
                                                {"a.f", "f32"},
                                                {"a.s", "string"},
                                                {"a.b", "bool"},
                                                {"a.input", "u64"},
                                                {"b.u", "u16"},
                                                {"b.i", "i32"},
                                                {"b.f", "f32"},
                                                {"b.s", "string"},
                                                {"b.b", "bool"},
                                                {"b.input", "u64"}});

// b has no f and no b; a comes from input 1, b from input 0.
std::vector<pair_binding> bindings() {
  std::vector<pair_binding> out;
  for (size_t k = 0; k < 5; ++k) out.push_back({side::a, k, 0});
  out.push_back({side::constant, 0, 1});
  out.push_back({side::b, 2, 0});
  out.push_back({side::b, 1, 0});
  out.push_back({});
  out.push_back({side::b, 0, 0});
  out.push_back({});
  out.push_back({side::constant, 0, 0});
  return out;
}

std::vector<uint64_t> lanes_of(const lane_list& lanes, const record::row_type& type, const std::vector<row>& rows) {
  if (lanes.columns().empty()) return {};
  row_program_builder builder(type);
  builder.map(lanes.columns());
  const row_program program = builder.build();
  EXPECT_EQ(program.output().row_bytes(), 8 * lanes.columns().size());
  record::batch_pool pool;
  std::vector<record::batch> out;
  program.run(testing::pack(type, rows), 0, pool, out);
  std::vector<uint64_t> lanes_of_rows;
  for (const record::batch& b : out) {
    const size_t at = lanes_of_rows.size();
    lanes_of_rows.resize(at + b.num_rows * lanes.columns().size());
    std::memcpy(lanes_of_rows.data() + at, b.rows, b.num_rows * b.row_bytes);
  }
  return lanes_of_rows;
}

bool check_condition(const std::string& text, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto number = [&] { return static_cast<int64_t>(random() % 5) - 2; };
  const auto word = [&] { return std::string(random() % 3, static_cast<char>('a' + random() % 2)); };
  std::vector<row> a, b, pairs;
  for (int i = 0; i < 60; ++i) {
    a.push_back({random() % 4, number(), static_cast<double>(number()) / 2, word(), random() % 2});
    b.push_back({word(), number(), random() % 4});
  }
  for (const row& x : a)
    for (const row& y : b)
      pairs.push_back({x[0], x[1], x[2], x[3], x[4], uint64_t{1}, y[2], y[1], 0.0, y[0], uint64_t{0}, uint64_t{0}});

  const scope names{.row = &both};
  const expression condition = testing::compiled_ok(text, names);
  lane_list a_lanes, b_lanes;
  const pair_condition holds(condition, bindings(), a_lanes, b_lanes);
  const std::vector<uint64_t> of_a = lanes_of(a_lanes, left, a), of_b = lanes_of(b_lanes, right, b);
  const size_t a_width = a_lanes.columns().size(), b_width = b_lanes.columns().size();
  const std::vector<testing::cell> expected = testing::evaluate_rows(text, both, testing::pack(both, pairs));
  for (size_t x = 0; x < a.size(); ++x)
    for (size_t y = 0; y < b.size(); ++y)
      EXPECT_EQ(holds(of_a.data() + x * a_width, of_b.data() + y * b_width),
                std::get<uint64_t>(expected[x * b.size() + y]) != 0)
          << text << ", pair " << x << ", " << y;
  return holds.is_lexicographic();
}

TEST(pair_condition, compares_tuples_lane_by_lane) {
  uint64_t seed = 0;
  for (const char* text :
       {"a.u < b.u", "a.u > b.u", "(a.u, a.i) < (b.u, b.i)", "(a.i, a.u) > (b.i, b.u)",
        "a.u < b.u or (a.u == b.u and a.i > b.i)", "(b.i == a.i and a.u < b.u) or b.i < a.i",
        "(a.u % 2, length(a.s), a.i) < (b.u % 2, length(b.s), b.i)",
        "if(a.input == 1, (a.u, a.i) < (b.u, b.i), a.f < b.f)", "a.input != b.input and (a.u, a.i) < (b.u, b.i)"})
    EXPECT_TRUE(check_condition(text, ++seed)) << text;
}

TEST(pair_condition, runs_anything_else) {
  uint64_t seed = 100;
  for (const char* text : {"a.u <= b.u",
                           "(a.u, a.i) <= (b.u, b.i)",
                           "a.f < f32(b.i)",
                           "a.u < b.i",
                           "a.i < b.u",
                           "a.u + b.u > 3",
                           "a.b and a.u == b.u",
                           "not (a.u == b.u)",
                           "a.u < b.u and a.i < b.i",
                           "if(a.u == b.u, a.i < b.i, a.f > 0.0)",
                           "min(a.u, b.u) == 2",
                           "a.u < b.u or a.i < b.i",
                           "a.u < b.u or (a.i == b.i and a.i < b.i)",
                           "a.f == b.f",
                           "a.b == b.b",
                           "true",
                           "a.b",
                           "b.u == 2",
                           "a.s[0] < b.s[0] or starts_with(a.s, 'a')",
                           "a.input < b.input",
                           "b.b",
                           "a.u * b.u % 3 == 1"})
    check_condition(text, ++seed);
  EXPECT_FALSE(check_condition("(a.u, a.i) <= (b.u, b.i)", 1));
}

TEST(pair_condition, refuses_to_compare_texts) {
  std::vector<bool> is_a(12, false);
  std::fill(is_a.begin(), is_a.begin() + 6, true);
  const auto problems = [&](const std::string& text) {
    return can_pair(testing::compiled_ok(text, scope{.row = &both}), is_a).size();
  };
  EXPECT_EQ(problems("a.s < b.s"), 1u);
  EXPECT_EQ(problems("a.u < b.u or (a.u == b.u and length(concat(a.s, b.s)) > 3)"), 1u);
  EXPECT_EQ(problems("length(a.s) < length(b.s)"), 0u);
  EXPECT_EQ(problems("a.s == 'x' and b.s != 'y'"), 0u);
}

// Unsigned numbers that fit 64 bits side by side are one lane.
TEST(pair_condition, packs_lanes) {
  const scope names{.row = &both};
  const auto lanes_for = [&](const std::string& text) {
    lane_list a_lanes, b_lanes;
    const pair_condition holds(testing::compiled_ok(text, names), bindings(), a_lanes, b_lanes);
    EXPECT_TRUE(holds.is_lexicographic()) << text;
    EXPECT_EQ(a_lanes.columns().size(), b_lanes.columns().size()) << text;
    return a_lanes.columns().size();
  };
  uint64_t seed = 200;
  for (const auto& [text, num_lanes] : std::vector<std::pair<const char*, size_t>>{
           {"(a.u, u32(a.i)) < (b.u, u32(b.i))", 1},
           {"(u32(a.i), a.u, a.u >> 1) < (u32(b.i), b.u, b.u >> 1)", 1},
           {"(a.u, u32(a.i), u32(a.i) >> 1) < (b.u, u32(b.i), u32(b.i) >> 1)", 2},
           {"(a.u << 40, a.u & 3) < (b.u << 40, b.u & 3)", 1},
           {"(u64(a.u) << 60, a.u) < (u64(b.u) << 60, b.u)", 2},
           {"(a.i, a.u) < (b.i, b.u)", 2},
           {"a.u > b.u or (a.u == b.u and u32(a.i) < u32(b.i))", 2}}) {
    EXPECT_EQ(lanes_for(text), num_lanes) << text;
    EXPECT_TRUE(check_condition(text, ++seed)) << text;
  }
}

TEST(pair_condition, shares_lanes) {
  lane_list a_lanes, b_lanes;
  const scope names{.row = &both};
  const pair_condition first(testing::compiled_ok("(a.u % 3, a.i) < (b.u % 3, b.i)", names), bindings(), a_lanes,
                             b_lanes);
  const pair_condition second(testing::compiled_ok("(a.i, a.u % 3) < (b.i, b.u % 3)", names), bindings(), a_lanes,
                              b_lanes);
  EXPECT_EQ(a_lanes.columns().size(), 2u);
  EXPECT_EQ(b_lanes.columns().size(), 2u);
}

}  // namespace
}  // namespace flowrun::expr
