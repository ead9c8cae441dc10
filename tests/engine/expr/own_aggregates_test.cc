// Means, variances and the sketch of distinct values: against plain computations, and in parts as in one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <random>

#include "engine/expr/aggregate.h"
#include "engine/expr/exact.h"
#include "engine/expr/own_aggregates.h"
#include "engine/expr/text_kernels.h"
#include "tests/engine/expr/program_harness.h"

namespace flowrun::expr {
namespace {

using ::testing::HasSubstr;

const record::row_type columns = testing::type_of({{"u", "u64"},
                                                   {"i", "i64"},
                                                   {"x", "f64"},
                                                   {"small", "i8"},
                                                   {"name", "string"},
                                                   {"ok", "bool"},
                                                   {"price", "decimal[2]"}});

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

// The sums have more digits than a double.
TEST(own_aggregates, means_are_rounded_once) {
  const int64_t x = 6'372'751'732'804'537'911;
  EXPECT_EQ(real_of("avg(i)", {x, x, x, x, x}), static_cast<double>(x));
  EXPECT_EQ(real_of("avg(i)", {1'478'488'929'638'537'396, 71'940'844'975'597'199, -152'751'235'606'265'619}),
            4.6589284633595635e+17);
  EXPECT_EQ(real_of("avg(i)", {-1'478'488'929'638'537'396, -71'940'844'975'597'199, 152'751'235'606'265'619}),
            -4.6589284633595635e+17);
  EXPECT_EQ(real_of("avg(price)", {x, x, x}), 63'727'517'328'045'379.11);
}

TEST(own_aggregates, do_not_wrap) {
  const uint64_t large = ~uint64_t{0};
  EXPECT_EQ(std::bit_cast<double>(result_of("avg(u)", std::vector<uint64_t>{large, large, large})), 0x1p64);
  EXPECT_EQ(std::bit_cast<double>(result_of("variance(u)", std::vector<uint64_t>{large, large - 2, large - 1})), 1);
  const int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(real_of("avg(i)", {least, least}), -0x1p63);
  EXPECT_EQ(real_of("variance(i)", {least, least + 2, least + 1}), 1);
}

TEST(own_aggregates, of_decimals_count_units) {
  EXPECT_EQ(real_of("avg(price)", {100, 250}), 1.75);
  EXPECT_DOUBLE_EQ(real_of("variance(price)", {200, 400, 400, 400, 500, 500, 700, 900}), 32.0 / 7);
  EXPECT_DOUBLE_EQ(real_of("stddev(price)", {-300, 300}), std::sqrt(18.0));
}

TEST(own_aggregates, sums_of_decimals_are_exact_whatever_comes_first) {
  const auto sum = [](const std::vector<int64_t>& units) {
    return static_cast<int64_t>(result_of("sum(price)", units));
  };
  constexpr int64_t most = std::numeric_limits<int64_t>::max(), least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(sum({}), 0);
  EXPECT_EQ(sum({10, -20, 5}), -5);
  EXPECT_EQ(sum({most, most, least, least}), -2);
  EXPECT_EQ(sum({least, most, -1, 1}), -1);
  std::mt19937_64 random(5);
  for (const size_t count : {1, 7, 1000, 3001}) {
    std::vector<int64_t> units(count);
    exact_number expected = 0;
    for (int64_t& u : units) expected += u = static_cast<int64_t>(random()) >> (random() % 64);
    for (; expected < least || expected > most; expected += units.back())
      units.push_back(expected > most ? least : most);
    EXPECT_EQ(sum(units), static_cast<int64_t>(expected));
  }
  const aggregate_binding b = compiled_aggregate_of("sum(price)").outside->bound;
  for (const std::vector<int64_t>& units : {std::vector{most, int64_t{1}}, std::vector{least, int64_t{-1}}}) {
    state s = seen(b, units, 0, 2);
    EXPECT_THROW(result_of(b, s), call_failed);
  }
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
  for (const char* text : {"avg(u)", "variance(small)", "approx_count_distinct(name)", "approx_count_distinct(x)",
                           "approx_quantile(x, 0.5)", "approx_quantile(u, 1)"}) {
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
  for (const uint64_t distinct : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{32}, uint64_t{33}, uint64_t{100},
                                  uint64_t{384}, uint64_t{385}, uint64_t{5000}, uint64_t{300000}}) {
    std::vector<uint64_t> numbers;
    for (uint64_t k = 0; k < distinct; ++k) numbers.insert(numbers.end(), 1 + random() % 2, k * 1000);
    std::shuffle(numbers.begin(), numbers.end(), random);
    const auto near = [&](uint64_t found) {
      const double share = distinct <= 384 ? 0 : 0.05;
      EXPECT_NEAR(static_cast<double>(found), static_cast<double>(distinct), share * static_cast<double>(distinct));
    };
    near(result_of("approx_count_distinct(u)", numbers));
    std::vector<std::string> texts;
    for (const uint64_t n : numbers) texts.push_back(std::to_string(n));
    near(result_of("approx_count_distinct(name)", std::vector<std::string_view>(texts.begin(), texts.end())));
  }
}

// Linear between neighbours, as NumPy has it by default.
double plain_quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const double a = values[below], b = values[std::min(below + 1, values.size() - 1)];
  return a + (b - a) * (place - static_cast<double>(below));
}

double quantile_of(const std::string& x, double q, const std::vector<double>& values) {
  std::vector<uint64_t> cells;
  for (const double v : values)
    cells.push_back(x == "x" ? std::bit_cast<uint64_t>(v) : static_cast<uint64_t>(static_cast<int64_t>(v)));
  return std::bit_cast<double>(result_of("approx_quantile(" + x + ", " + std::to_string(q) + ")", cells));
}

TEST(own_aggregates, give_quantiles_of_few_values) {
  EXPECT_EQ(quantile_of("x", 0.5, {3, 1, 2}), 2);
  EXPECT_EQ(quantile_of("i", 0.5, {-4, 10, 2, 1}), 1.5);
  EXPECT_EQ(quantile_of("u", 0, {7, 5, 9}), 5);
  EXPECT_EQ(quantile_of("small", 1, {7, -5, 9}), 9);
  EXPECT_EQ(quantile_of("x", 0.75, {-0.5}), -0.5);
  EXPECT_TRUE(std::isnan(quantile_of("x", 0.5, {})));
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  EXPECT_EQ(quantile_of("x", 0.5, {infinity, nan, 1, -infinity, 2}), 2);
  EXPECT_EQ(quantile_of("x", 0.25, {infinity, nan, -infinity, 2}), -infinity);
  EXPECT_EQ(quantile_of("x", 0.5, {infinity, infinity}), infinity);
  EXPECT_TRUE(std::isnan(quantile_of("x", 1, {nan, 1})));
  EXPECT_EQ(quantile_of("x", 0.5, {-1.5e308, 1.5e308}), 0);
  std::mt19937_64 random(8);
  std::vector<double> values;
  while (values.size() < 4096) {
    values.push_back(static_cast<double>(random() % 1000) / 8 - 30);
    if (values.size() % 500 != 96) continue;
    for (const double q : {0.0, 0.125, 0.5, 0.9375, 1.0})
      EXPECT_EQ(quantile_of("x", q, values), plain_quantile(values, q));
  }
}

TEST(own_aggregates, give_quantiles_of_many_values_within_what_is_promised) {
  std::mt19937_64 random(9);
  const auto draw = [&](size_t count, auto value) {
    std::vector<double> out;
    for (size_t i = 0; i < count; ++i) out.push_back(value(std::generate_canonical<double, 53>(random)));
    return out;
  };
  struct few {
    std::vector<double> values;
    double promised;
  };
  const std::vector<few> cases = {
      {draw(4097, [](double r) { return 1 + r; }), 1.0 / 256},
      {draw(20000, [](double r) { return 40000 * r + 1; }), 1.0 / 256},
      {draw(20000, [](double r) { return std::exp(20 * r); }), 1.0 / 128},
      {draw(20000, [](double r) { return std::exp(40 * r - 20) * (r < 0.5 ? -1 : 1); }), 1.0 / 128},
      {draw(20000, [](double r) { return std::exp(1400 * r - 700); }), 0.5},
      {draw(20000, [](double r) { return r < 0.4   ? 0
                                         : r < 0.7 ? -3
                                                   : 1000 * r; }), 1.0 / 256},
      {draw(20000, [](double) { return 7.25; }), 0},
      {draw(20000, [](double r) { return std::floor(255.99 * r) - (r < 0.2 ? 255 : 0); }), 0},
      {draw(20000, [](double r) { return 1990 + std::floor(1020 * r * r); }), 0},
      {draw(20000, [](double r) { return -1990 - std::floor(57.5 * r); }), 0},
      {draw(20000, [](double r) { return 1.79e15 + 864e9 * std::floor(10 * r) + std::floor(1e9 * r); }),
       9e12 / 1024 / 1.79e15},
  };
  for (const auto& [values, promised] : cases)
    for (const double q : {0.0, 0.001, 0.1, 0.5, 0.55, 0.9, 0.999, 1.0}) {
      const double exact = plain_quantile(values, q);
      EXPECT_NEAR(quantile_of("x", q, values), exact, promised * std::abs(exact) + 1e-300)
          << values.size() << ", " << q;
    }
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  std::vector<double> mixed = draw(8000, [](double r) { return r; });
  mixed.insert(mixed.end(), 1000, infinity);
  mixed.insert(mixed.begin(), 1000, -infinity);
  mixed.insert(mixed.begin(), 1000, nan);
  EXPECT_EQ(quantile_of("x", 0.05, mixed), -infinity);
  EXPECT_NEAR(quantile_of("x", 5000.0 / 11000, mixed), 0.5, 0.02);
  EXPECT_EQ(quantile_of("x", 0.9, mixed), infinity);
  EXPECT_TRUE(std::isnan(quantile_of("x", 0.95, mixed)));
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
  EXPECT_THAT(fault("nunique(u)").hint, HasSubstr("write count_distinct(x), or approx_count_distinct(x)"));
  EXPECT_THAT(fault("count_distinct()").message, HasSubstr("takes 1 argument, not 0"));
  EXPECT_THAT(fault("median(u)").hint, HasSubstr("write approx_quantile(x, 0.5)"));
  EXPECT_THAT(fault("approx_quantile(name, 0.5)").hint, HasSubstr("to_f64(x)"));
  EXPECT_THAT(fault("approx_quantile(u, 1.5)").message, HasSubstr("1.5 is no quantile"));
  EXPECT_THAT(fault("approx_quantile(u, -1)").message, HasSubstr("-1 is no quantile"));
  EXPECT_THAT(fault("approx_quantile(u, x)").message, HasSubstr("this differs from row to row"));
  EXPECT_THAT(fault("approx_quantile(u, 'a')").expected, HasSubstr("from 0 to 1"));
  EXPECT_THAT(fault("approx_quantile(u)").message, HasSubstr("approx_quantile takes 2 arguments, not 1"));
  EXPECT_THAT(fault("varianc(u)").hint, HasSubstr("did you mean 'variance'?"));
  EXPECT_THAT(compile("avg(u) + 1", scope{.row = &columns}).problems.at(0).message,
              HasSubstr("is an aggregate and no function"));
}

}  // namespace
}  // namespace flowrun::expr
