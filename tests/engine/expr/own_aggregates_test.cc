// Means, variances and the sketch of distinct values: against plain computations, and in parts as in one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <random>

#include "engine/expr/aggregate.h"
#include "engine/expr/own_aggregates.h"
#include "engine/expr/text_kernels.h"
#include "tests/engine/expr/program_harness.h"

namespace flowrun::expr {
namespace {

using ::testing::HasSubstr;

const record::row_type columns =
    testing::type_of({{"u", "u64"}, {"i", "i64"}, {"x", "f64"}, {"small", "i8"}, {"name", "string"}, {"ok", "bool"}});

aggregate compiled_aggregate_of(const std::string& text) {
  const compiled_aggregate c = compile_aggregate(text, scope{.row = &columns});
  EXPECT_TRUE(c.value.has_value()) << text << ": " << (c.value ? "" : c.problems.at(0).message);
  return *c.value;
}

struct state {
  std::vector<std::byte> bytes;
  size_t shift = 0;
  std::byte* at() { return bytes.data() + shift; }
};

// A state that has seen the cells of [from, to).
template <class Cell>
state seen(const aggregate_binding& b, const std::vector<Cell>& cells, size_t from, size_t to) {
  state s{std::vector<std::byte>(b.state_bytes + 16), 0};
  s.shift = (16 - reinterpret_cast<uintptr_t>(s.bytes.data()) % 16) % 16;
  b.aggregate->start(s.at(), 1);
  const text_operand operand{cells.data() + from, 1};
  const uint32_t starts[] = {0, static_cast<uint32_t>(to - from)};
  b.aggregate->update({s.at(), 1, starts}, &operand);
  return s;
}

uint64_t result_of(const aggregate_binding& b, state& s) {
  uint64_t out = 0;
  text_call call;
  call.out = &out;
  call.num_rows = 1;
  EXPECT_EQ(b.aggregate->finish(s.at(), call), 1U);
  return out;
}

// Of all cells at once; of parts the same, where they can be combined.
template <class Cell>
uint64_t result_of(const std::string& text, const std::vector<Cell>& cells) {
  const aggregate_binding b = compiled_aggregate_of(text).outside->bound;
  state whole = seen(b, cells, 0, cells.size());
  if (b.is_combinable) {
    const size_t third = cells.size() / 3, half = cells.size() / 2;
    state a = seen(b, cells, half, cells.size()), c = seen(b, cells, 0, third), d = seen(b, cells, third, half);
    const uint32_t one_row[] = {0, 1};
    for (state* part : {&c, &d}) b.aggregate->combine({a.at(), 1, one_row}, part->at(), b.state_bytes);
    EXPECT_EQ(result_of(b, a), result_of(b, whole)) << text;
  }
  return result_of(b, whole);
}

double real_of(const std::string& text, const std::vector<int64_t>& values) {
  return std::bit_cast<double>(result_of(text, values));
}

TEST(own_aggregates, give_means_and_variances_of_small_numbers) {
  EXPECT_EQ(real_of("avg(i)", {1, 2, 4}), 7.0 / 3);
  EXPECT_EQ(real_of("avg(small)", {-1, -2, -4}), -7.0 / 3);
  EXPECT_EQ(real_of("variance(i)", {2, 4, 4, 4, 5, 5, 7, 9}), 32.0 / 7);
  EXPECT_EQ(real_of("stddev(i)", {-3, 3}), std::sqrt(18.0));
  EXPECT_EQ(real_of("variance(i)", {5, 5, 5}), 0);
  EXPECT_TRUE(std::isnan(real_of("avg(i)", {})));
  EXPECT_TRUE(std::isnan(real_of("variance(i)", {5})));
}

TEST(own_aggregates, do_not_wrap) {
  const uint64_t large = ~uint64_t{0};
  EXPECT_EQ(std::bit_cast<double>(result_of("avg(u)", std::vector<uint64_t>{large, large, large})), 0x1p64);
  EXPECT_EQ(std::bit_cast<double>(result_of("variance(u)", std::vector<uint64_t>{large, large - 2, large - 1})), 1);
  const int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(real_of("avg(i)", {least, least}), -0x1p63);
  EXPECT_EQ(real_of("variance(i)", {least, least + 2, least + 1}), 1);
}

TEST(own_aggregates, agree_with_two_passes) {
  std::mt19937_64 random(3);
  for (const int shift : {0, 20, 40, 60}) {
    std::vector<int64_t> whole(1000);
    std::vector<double> reals(1000);
    for (size_t k = 0; k < whole.size(); ++k) {
      whole[k] = static_cast<int64_t>(random()) >> shift;
      reals[k] = static_cast<double>(whole[k]) / 1024;
    }
    const auto sum = [](const auto& values, auto f) {
      long double out = 0;
      for (const auto v : values) out += f(static_cast<long double>(v));
      return out;
    };
    const auto agrees = [&](const auto& values, double avg, double variance) {
      const long double mean = sum(values, [](long double v) { return v; }) / 1000;
      const long double squares = sum(values, [&](long double v) { return (v - mean) * (v - mean); });
      EXPECT_NEAR(static_cast<double>(avg / mean), 1, 1e-12);
      EXPECT_NEAR(static_cast<double>(variance / (squares / 999)), 1, 1e-12);
    };
    agrees(whole, real_of("avg(i)", whole), real_of("variance(i)", whole));
    std::vector<uint64_t> lanes;
    for (const double v : reals) lanes.push_back(std::bit_cast<uint64_t>(v));
    agrees(reals, std::bit_cast<double>(result_of("avg(x)", lanes)),
           std::bit_cast<double>(result_of("variance(x)", lanes)));
  }
}

TEST(own_aggregates, know_which_can_be_combined) {
  for (const char* text : {"avg(u)", "variance(small)", "approx_count_distinct(name)", "approx_count_distinct(x)"}) {
    EXPECT_TRUE(compiled_aggregate_of(text).outside->bound.is_combinable) << text;
    EXPECT_FALSE(compiled_aggregate_of(text).is_ordered()) << text;
  }
  for (const char* text : {"avg(x)", "stddev(x + 1)"}) {
    EXPECT_FALSE(compiled_aggregate_of(text).outside->bound.is_combinable) << text;
    EXPECT_TRUE(compiled_aggregate_of(text).is_ordered()) << text;
  }
}

TEST(own_aggregates, estimate_how_many_values_there_are) {
  std::mt19937_64 random(5);
  for (const uint64_t distinct :
       {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{100}, uint64_t{5000}, uint64_t{300000}}) {
    std::vector<uint64_t> numbers;
    for (uint64_t k = 0; k < distinct; ++k) numbers.insert(numbers.end(), 1 + random() % 2, k * 1000);
    std::shuffle(numbers.begin(), numbers.end(), random);
    const auto near = [&](uint64_t found) {
      EXPECT_NEAR(static_cast<double>(found), static_cast<double>(distinct), 0.05 * static_cast<double>(distinct));
    };
    near(result_of("approx_count_distinct(u)", numbers));
    std::vector<std::string> texts;
    for (const uint64_t n : numbers) texts.push_back(std::to_string(n));
    near(result_of("approx_count_distinct(name)", std::vector<std::string_view>(texts.begin(), texts.end())));
  }
}

TEST(own_aggregates, say_what_is_wrong) {
  const auto fault = [](const std::string& text) {
    return compile_aggregate(text, scope{.row = &columns}).problems.at(0);
  };
  EXPECT_THAT(fault("avg(name)").hint, HasSubstr("to_f64(x)"));
  EXPECT_THAT(fault("stddev(ok)").hint, HasSubstr("u8(x)"));
  EXPECT_THAT(fault("avg()").message, HasSubstr("avg takes 1 argument, not 0"));
  EXPECT_THAT(fault("avg").hint, HasSubstr("write avg(x)"));
  EXPECT_THAT(fault("mean(u)").hint, HasSubstr("write avg(x)"));
  EXPECT_THAT(fault("count_distinct(u)").hint, HasSubstr("write approx_count_distinct(x)"));
  EXPECT_THAT(fault("varianc(u)").hint, HasSubstr("did you mean 'variance'?"));
  EXPECT_THAT(compile("avg(u) + 1", scope{.row = &columns}).problems.at(0).message,
              HasSubstr("is an aggregate and no function"));
}

}  // namespace
}  // namespace flowrun::expr
