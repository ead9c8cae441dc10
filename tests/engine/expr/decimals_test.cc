// Decimals in expressions, beside integers of 128 bits, and what is refused.
#include "engine/expr/decimals.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "engine/expr/aggregate.h"
#include "engine/expr/conversion.h"
#include "engine/expr/outside_function.h"
#include "engine/record/decimal_text.h"
#include "tests/engine/expr/program_harness.h"
#include "tests/support/sanitized.h"

namespace flowrun::expr {
namespace {

using testing::cell;
using ::testing::HasSubstr;

const record::row_type columns = testing::type_of({{"price", "decimal[2]"},
                                                   {"rate", "decimal[4]"},
                                                   {"whole", "decimal[0]"},
                                                   {"fine", "decimal[18]"},
                                                   {"n", "i64"},
                                                   {"u", "u64"},
                                                   {"x", "f64"},
                                                   {"ok", "bool"},
                                                   {"day", "date"},
                                                   {"text", "string"}});

constexpr int64_t most = std::numeric_limits<int64_t>::max(), least = std::numeric_limits<int64_t>::min();

cell value_over(const std::string& text, int64_t price, int64_t rate, int64_t whole, int64_t n, uint64_t u, double x,
                const std::string& of_text = "7.345") {
  const std::vector<testing::row> rows = {
      {price, rate, whole, int64_t{5}, n, u, x, uint64_t{1}, int64_t{20'000}, of_text}};
  return testing::evaluate_rows(text, columns, testing::pack(columns, rows))[0];
}
cell value(const std::string& text) { return value_over(text, 1250, 1'190'000, 3, -3, 5, 1.5); }
std::string shown(const std::string& text) { return std::get<std::string>(value("string(" + text + ")")); }
bool holds(const std::string& text) { return std::get<uint64_t>(value(text)) == 1; }
std::string type_name(const std::string& text) { return testing::type_name_over(text, columns); }
problem refusal(const std::string& text) { return testing::refusal_over(text, columns); }

TEST(decimals, literals_and_constant_texts_beside_decimals_are_decimals) {
  EXPECT_EQ(shown("price + 1"), "13.50");
  EXPECT_EQ(shown("price + 0.1"), "12.60");
  EXPECT_EQ(shown("price + 0.105"), "12.605");
  EXPECT_EQ(shown("'0.105' + price"), "12.605");
  EXPECT_EQ(shown("price * 1.19"), "14.8750");
  EXPECT_EQ(shown("price * (1 + 0.19)"), "14.8750");
  EXPECT_EQ(shown("price * -(0.5 - 1 * 0.25)"), "-3.1250");
  EXPECT_EQ(shown("price * 1_0.5"), "131.250");
  EXPECT_EQ(shown("if(ok, price, 0)"), "12.50");
  EXPECT_EQ(shown("if(not ok, price, 7.125)"), "7.125");
  EXPECT_EQ(shown("max(price, '20', rate)"), "119.0000");
  EXPECT_EQ(type_name("min(1, price, 0.001)"), "decimal[3]");
  EXPECT_EQ(type_name("0.1 + 0.2"), "f64");
  EXPECT_EQ(shown("0.1 + 0.2"), "0.30000000000000004");
  EXPECT_TRUE(holds("price == 12.5 and price == '12.500' and price != 12 and 12.49 < price"));
  EXPECT_TRUE(holds("(price, n) < (12.5, 0)"));
}

TEST(decimals, have_the_scale_that_nothing_is_lost_in) {
  EXPECT_EQ(type_name("price + rate"), "decimal[4]");
  EXPECT_EQ(type_name("price - n"), "decimal[2]");
  EXPECT_EQ(type_name("price * rate"), "decimal[6]");
  EXPECT_EQ(type_name("price * whole * n"), "decimal[2]");
  EXPECT_EQ(type_name("rate % price"), "decimal[4]");
  EXPECT_EQ(type_name("price / 2"), "f64");
  EXPECT_EQ(type_name("price + x"), "f64");
  EXPECT_EQ(type_name("price * 1e2"), "f64");
  EXPECT_EQ(type_name("if(ok, price, x)"), "f64");
  EXPECT_EQ(type_name("round(rate, 1)"), "decimal[1]");
  EXPECT_EQ(type_name("round(rate, 9)"), "decimal[4]");
  EXPECT_EQ(type_name("round(rate, -2)"), "decimal[0]");
  EXPECT_EQ(type_name("floor(rate)"), "decimal[0]");
  EXPECT_EQ(type_name("abs(rate)"), "decimal[4]");
  EXPECT_EQ(type_name("sign(rate)"), "i64");
  EXPECT_EQ(type_name("sqrt(rate)"), "f64");
  EXPECT_EQ(type_name("to_decimal(x, 3)"), "decimal[3]");
}

TEST(decimals, are_rounded_as_numbers_are) {
  EXPECT_EQ(shown("round(rate * 0.0105, 2)"), "1.25");
  EXPECT_EQ(shown("round(to_decimal('2.5', 1))"), "3");
  EXPECT_EQ(shown("round(to_decimal('-2.5', 1))"), "-3");
  EXPECT_EQ(shown("round(to_decimal('-2.49', 2), 1)"), "-2.5");
  EXPECT_EQ(shown("round(to_decimal('1450', 2), -2)"), "1500");
  EXPECT_EQ(shown("round(fine, -3)"), "0");
  EXPECT_EQ(shown("trunc(-price, 1)"), "-12.5");
  EXPECT_EQ(shown("trunc(-price)"), "-12");
  EXPECT_EQ(shown("trunc(to_decimal('9', 18), -1)"), "0");  // where the nearest is 10
  EXPECT_EQ(shown("trunc(to_decimal('-9000000000000000000', 0), -19)"), "0");
  EXPECT_EQ(shown("floor(-price)"), "-13");
  EXPECT_EQ(shown("ceil(-price)"), "-12");
  EXPECT_EQ(shown("ceil(price)"), "13");
  EXPECT_EQ(shown("ceil(fine)"), "1");
  EXPECT_EQ(shown("to_decimal(rate, 0)"), "119");
  EXPECT_EQ(shown("to_decimal(price, 4)"), "12.5000");
  EXPECT_EQ(shown("abs(-price)"), "12.50");
  EXPECT_EQ(shown("sign(-price)"), "-1");
}

TEST(decimals, become_other_types_and_come_from_them) {
  EXPECT_EQ(shown("i64(-price)"), "-12");
  EXPECT_EQ(shown("u8(price)"), "12");
  EXPECT_EQ(shown("f64(price)"), "12.5");
  EXPECT_EQ(shown("f32(price)"), "12.5");
  EXPECT_EQ(shown("bool(price)"), "true");
  EXPECT_EQ(shown("bool(price - price)"), "false");
  EXPECT_EQ(shown("concat(price, '|', -price)"), "12.50|-12.50");
  EXPECT_EQ(shown("to_decimal(text, 2)"), "7.35");
  EXPECT_EQ(shown("to_decimal(concat(text, 'x'), 2)"), "0.00");
  EXPECT_TRUE(holds("is_decimal(text, 3) and not is_decimal(text, 2) and not is_decimal('x', 2)"));
  EXPECT_EQ(shown("to_decimal(n, 2)"), "-3.00");
  EXPECT_EQ(shown("to_decimal(u, 18)"), "5.000000000000000000");
  EXPECT_EQ(shown("to_decimal(x, 0)"), "2");
  EXPECT_EQ(shown("to_decimal(-x / 3, 5)"), "-0.50000");
  EXPECT_EQ(shown("to_decimal(1.005, 2)"), "1.01");      // its digits
  EXPECT_EQ(shown("to_decimal(x - 0.495, 2)"), "1.00");  // 1.00499999…
}

TEST(decimals, of_floats_and_as_floats_are_the_nearest) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 3000; ++i) {
    const auto units = static_cast<int64_t>(random()) >> random() % 64;
    const auto scale = static_cast<uint32_t>(random() % 19);
    const record::row_type type = testing::type_of({{"d", fmt::format("decimal[{}]", scale)}});
    const record::batch in = testing::pack(type, {{units}});
    const auto real = std::get<double>(testing::evaluate_rows("f64(d)", type, in)[0]);
    EXPECT_EQ(real, std::strtod(record::decimal_text(units, scale).c_str(), nullptr)) << units << " " << scale;
    // With 15 digits, it is the same decimal again.
    if (std::abs(units) < 1'000'000'000'000'000) {
      const std::string again = fmt::format("to_decimal(f64(d), {}) == d", scale);
      EXPECT_EQ(std::get<uint64_t>(testing::evaluate_rows(again, type, in)[0]), 1U) << units << " " << scale;
    }
  }
}

// Units of two decimals, far apart in size.
struct operands {
  std::mt19937_64 random{7};
  int64_t next() {
    constexpr int64_t odd[] = {0, 1, -1, most, least, most - 1, least + 1, 100, -100, 99, 101};
    if (random() % 4 == 0) return odd[random() % std::size(odd)];
    return static_cast<int64_t>(random()) >> random() % 64;
  }
};

TEST(decimals, compute_and_compare_as_numbers_of_128_bits_do) {
  operands of;
  for (int i = 0; i < (sanitized ? 400 : 4000); ++i) {
    const int64_t price = of.next(), rate = of.next(), whole = of.next(), n = of.next();
    const auto u = static_cast<uint64_t>(of.next());
    const auto evaluated = [&](const std::string& text) { return value_over(text, price, rate, whole, n, u, 0); };
    const auto expect = [&](const std::string& text, exact_number expected) {
      if (expected >= least && expected <= most) {
        EXPECT_EQ(std::get<int64_t>(evaluated(text)), static_cast<int64_t>(expected)) << text;
      } else {
        EXPECT_THROW(evaluated(text), call_failed) << text;
      }
    };
    const auto fits = [](exact_number value) { return value >= least && value <= most; };
    const exact_number wide_price = exact_number{price} * 100;  // with four digits
    if (fits(wide_price)) {
      expect("price + rate", wide_price + rate);
      expect("rate - price", rate - wide_price);
      if (rate != 0) expect("price % rate", wide_price % rate);
    } else {
      EXPECT_THROW(evaluated("price + rate"), call_failed);
    }
    expect("price * rate", exact_number{price} * rate);
    expect("price * n", exact_number{price} * n);
    if (u <= static_cast<uint64_t>(most))
      expect("price * u", exact_number{price} * static_cast<exact_number>(u));
    else
      EXPECT_THROW(evaluated("price * u"), call_failed);
    expect("-price", -exact_number{price});
    expect("abs(price)", price < 0 ? -exact_number{price} : price);
    const auto agree = [&](const std::string& a, const std::string& b, exact_number x, exact_number y) {
      const auto one = [&](const char* op, bool expected) {
        const std::string text = fmt::format("{} {} {}", a, op, b);
        EXPECT_EQ(std::get<uint64_t>(evaluated(text)), expected ? 1U : 0U) << text << " of " << price << " " << rate;
      };
      one("==", x == y);
      one("!=", x != y);
      one("<", x < y);
      one("<=", x <= y);
      one(">", x > y);
      one(">=", x >= y);
    };
    agree("price", "rate", wide_price, rate);
    agree("rate", "price", rate, wide_price);
    agree("price", "n", price, exact_number{n} * 100);
    agree("u", "rate", static_cast<exact_number>(u) * 10'000, rate);
    agree("price", "12.345", exact_number{price} * 10, 12'345);
    agree("price", "18446744073709551615", price, exact_number{std::numeric_limits<uint64_t>::max()} * 100);
    agree("whole", "n", whole, n);
  }
}

TEST(decimals, compare_with_constants_of_more_digits_than_they_can_have) {
  // For each operator, with the price on the left and on the right.
  const auto compared = [](int64_t price, const std::string& constant) {
    std::string out;
    for (const std::string op : {" == ", " != ", " < ", " <= ", " > ", " >= "})
      for (const std::string& text : {"price" + op + constant, constant + op + "price"})
        out += std::get<uint64_t>(value_over(text, price, 0, 0, 0, 0, 0)) == 1 ? '1' : '0';
    return out;
  };
  const std::string smaller = "001110100101", larger = "001101011010";
  for (const std::string c : {"12.5000000000000000001", "12.50000000000000000000000001", "'12.5000000000000000001'"}) {
    EXPECT_EQ(compared(1250, c), smaller) << c;
    EXPECT_EQ(compared(1251, c), larger) << c;
  }
  for (const std::string c :
       {"-12.5000000000000000001", "-12.50000000000000000000000001", "'-12.5000000000000000001'"}) {
    EXPECT_EQ(compared(-1250, c), larger) << c;
    EXPECT_EQ(compared(-1251, c), smaller) << c;
  }
  EXPECT_EQ(compared(0, "-0.0000000000000000001"), larger);
  EXPECT_EQ(compared(most, "92233720368547758.0700001"), smaller);
  EXPECT_EQ(compared(most, "92233720368547758.0600001"), larger);
  EXPECT_EQ(compared(most, "123456789012345678901.5"), smaller);
  EXPECT_EQ(compared(least, "-92233720368547758.0800001"), larger);
  EXPECT_EQ(compared(least, "-92233720368547758.0700001"), smaller);
  EXPECT_EQ(compared(least, "-123456789012345678901.5"), larger);
  EXPECT_TRUE(holds("price in (1.5, 12.5000000000000000000000)"));
  EXPECT_TRUE(holds("price == '12.5000000000000000000000'"));
  EXPECT_FALSE(holds("price in (1.5, 12.5000000000000000000001)"));
  EXPECT_EQ(shown("price + 0.25000000000000000000000"), "12.75");
  EXPECT_THAT(refusal("price + '12.5000000000000000001'").message,
              HasSubstr("12.5000000000000000001 has more digits than"));
}

TEST(decimals, are_rounded_from_all_digits_of_a_constant) {
  EXPECT_EQ(shown("to_decimal(0.1249999999999999999, 2)"), "0.12");
  EXPECT_EQ(shown("to_decimal(-0.1249999999999999999, 2)"), "-0.12");
  EXPECT_EQ(shown("to_decimal(-(-0.1250000000000000000), 2)"), "0.13");
  EXPECT_EQ(shown("to_decimal('0.1249999999999999999', 2)"), "0.12");
  EXPECT_EQ(shown("to_decimal(0.49999999999999999999, 0)"), "0");
  EXPECT_EQ(shown("to_decimal('9223372036854775806.4', 0)"), "9223372036854775806");
  EXPECT_EQ(shown("to_decimal('9223372036854775807.0', 0)"), "9223372036854775807");
  const problem beyond = refusal("to_decimal('9223372036854775807.5', 0)");
  EXPECT_THAT(beyond.message, HasSubstr("'9223372036854775807.5' does not fit in decimal[0]"));
  EXPECT_THAT(beyond.expected, HasSubstr("-9223372036854775808 to 9223372036854775807"));
}

TEST(decimals, are_rounded_to_more_digits_than_an_integer_has) {
  EXPECT_EQ(shown("round(to_decimal('92233720368547758.07', 2), -17)"), "100000000000000000");
  EXPECT_EQ(shown("round(to_decimal('-50000000000000000.00', 2), -17)"), "-100000000000000000");
  EXPECT_EQ(shown("round(to_decimal('49999999999999999.99', 2), -17)"), "0");
  EXPECT_EQ(shown("round(to_decimal('-49999999999999999.99', 2), -17)"), "0");
  EXPECT_EQ(shown("round(to_decimal('9.223372036854775807', 18), -1)"), "10");
  EXPECT_EQ(shown("round(to_decimal('92233720368547758.07', 2), -18)"), "0");
  EXPECT_EQ(shown("round(to_decimal(4999999999999999999, 0), -19)"), "0");
  EXPECT_EQ(shown("round(to_decimal(9223372036854775807, 0), -20)"), "0");
  EXPECT_THAT(refusal("round(to_decimal(5000000000000000000, 0), -19)").message, HasSubstr("does not fit"));
}

TEST(decimals, that_become_too_large_say_so) {
  try {
    value_over("price + rate", most, 0, 0, 0, 0, 0);
    FAIL();
  } catch (const call_failed& no) {
    EXPECT_THAT(no.what(), HasSubstr("9223372036854775807 * 100, in units of the last digit, does not fit"));
    EXPECT_THAT(no.hint(), HasSubstr("round(x, 2)"));
  }
  EXPECT_THROW(value_over("to_decimal(x, 2)", 0, 0, 0, 0, 0, 1e300), call_failed);
  EXPECT_THROW(value_over("to_decimal(x, 2)", 0, 0, 0, 0, 0, std::nan("")), call_failed);
  EXPECT_THROW(value_over("to_decimal(x, 18)", 0, 0, 0, 0, 0, 9.3), call_failed);
  EXPECT_THROW(value_over("to_decimal(x, 0)", 0, 0, 0, 0, 0, 0x1p63), call_failed);
  EXPECT_EQ(std::get<int64_t>(value_over("to_decimal(x, 0)", 0, 0, 0, 0, 0, -0x1p63)), least);
  EXPECT_EQ(std::get<int64_t>(value_over("to_decimal(x, 18)", 0, 0, 0, 0, 0, 5e-324)), 0);
  EXPECT_EQ(std::get<int64_t>(value_over("to_decimal(text, 2)", 0, 0, 0, 0, 0, 0, "1e3")), 0);
}

TEST(decimals, what_has_no_meaning_is_refused_with_what_to_write) {
  const auto hint = [](const std::string& text) { return refusal(text).hint; };
  EXPECT_THAT(hint("price & 1"), HasSubstr("i64(x)"));
  EXPECT_THAT(hint("price << 1"), HasSubstr("i64(x)"));
  EXPECT_THAT(hint("~price"), HasSubstr("i64(x)"));
  EXPECT_THAT(hint("price + ok"), HasSubstr("u8(x)"));
  EXPECT_THAT(hint("price + text"), HasSubstr("to_decimal(text, 2)"));
  EXPECT_THAT(hint("text > price"), HasSubstr("to_decimal(text, 2)"));
  EXPECT_THAT(hint("fine * price"), HasSubstr("round(x, n)"));
  EXPECT_THAT(hint("to_decimal(x, n)"), HasSubstr("decides the type"));
  EXPECT_THAT(hint("round(price, n)"), HasSubstr("decides the type"));
  EXPECT_THAT(hint("floor_div(price, 2)"), HasSubstr("f64(x)"));
  EXPECT_THAT(hint("trunc(x, 2)"), HasSubstr("round(x, n)"));
  EXPECT_THAT(hint("coalesce(price, 0)"), HasSubstr("if(x != 0, x, y)"));
  EXPECT_THAT(hint("rand(1, price)"), HasSubstr("i64(x)"));
  EXPECT_EQ(refusal("price == 'x'").offset, 9U);
  EXPECT_THAT(refusal("price == 'x'").message, HasSubstr("'x' is no decimal"));
  EXPECT_THAT(refusal("max(price, 'x')").message, HasSubstr("'x' is no decimal"));
  EXPECT_EQ(refusal("if(ok, price, ok)").offset, 14U);
  EXPECT_THAT(refusal("if(ok, price, ok)").message, HasSubstr("have no common type"));
  EXPECT_THAT(refusal("(price, n) < (day, 1)").message, HasSubstr("can't be compared"));
  EXPECT_THAT(refusal("max(price, 1000000000000000000)").message, HasSubstr("does not fit in decimal[2]"));
  EXPECT_THAT(refusal("fine + 10").message, HasSubstr("the constant does not fit"));
  EXPECT_THAT(refusal("to_decimal(5, 18) * 2").message, HasSubstr("of these constants is too large"));
  EXPECT_THAT(refusal("to_decimal('x', 2)").message, HasSubstr("'x' is no decimal"));
  EXPECT_THAT(refusal("to_decimal(1, 19)").message, HasSubstr("19 digits behind the point"));
  EXPECT_THAT(refusal("to_decimal(ok, 2)").message, HasSubstr("this is bool"));
}

TEST(decimals, are_declared_types_where_nothing_is_lost) {
  const auto converted = [](const std::string& text, uint32_t scale) -> std::string {
    const expression e = testing::compiled_ok(text, scope{.row = &columns});
    const auto type = record::value_type::decimal(scale);
    if (const auto value = e.converted_to(type)) {
      EXPECT_EQ(value->type(), type) << text;
      const auto bits = value->constant_bits();
      return bits ? record::decimal_text(static_cast<int64_t>(*bits), scale) : "varies";
    }
    const problem why = conversion_problem(e, type);
    return why.message + "; " + why.hint;
  };
  EXPECT_EQ(converted("12", 2), "12.00");
  EXPECT_EQ(converted("12.5", 2), "12.50");
  EXPECT_EQ(converted("'12.500'", 2), "12.50");
  EXPECT_EQ(converted("-0.25", 2), "-0.25");
  EXPECT_EQ(converted("to_decimal('1.500', 3)", 2), "1.50");
  EXPECT_EQ(converted("price", 4), "varies");
  EXPECT_EQ(converted("u", 2), "varies");
  EXPECT_EQ(
      converted("12.505", 2),
      "12.505 does not fit in decimal[2]: it has 3 digits behind the point; write to_decimal(12.505, 2) to round it");
  EXPECT_EQ(converted("'x'", 2), "'x' is no decimal: a decimal has digits, a point and a sign, as in -12.50; ");
  EXPECT_EQ(converted("rate", 2), "'rate' is decimal[4]; write to_decimal(rate, 2)");
  EXPECT_EQ(converted("x", 2), "'x' is f64; write to_decimal(x, 2)");
  EXPECT_EQ(converted("text", 2), "'text' is string; write to_decimal(text, 2)");
}

TEST(decimals, have_aggregates) {
  const auto type = [](const std::string& text) {
    const compiled_aggregate a = compile_aggregate(text, scope{.row = &columns});
    EXPECT_TRUE(a.value) << text;
    return a.value ? to_string(a.value->result) : a.problems.at(0).message;
  };
  EXPECT_EQ(type("sum(price * rate)"), "decimal[6]");
  EXPECT_EQ(type("min(price)"), "decimal[2]");
  EXPECT_EQ(type("last(rate)"), "decimal[4]");
  for (const char* real : {"avg(price)", "stddev(price)", "approx_quantile(price, 0.5)"}) EXPECT_EQ(type(real), "f64");
  EXPECT_EQ(type("approx_count_distinct(price)"), "u64");
}

}  // namespace
}  // namespace flowrun::expr
