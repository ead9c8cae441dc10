// Texts of decimals, beside numbers of 128 bits.
#include "engine/record/decimal_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace flowrun::record {
namespace {

using enum decimal_reading;

std::string read(std::string_view text, uint32_t scale, bool rounds = false) {
  int64_t units = 0;
  switch (read_decimal(text, scale, units, rounds)) {
    case done: return std::to_string(units);
    case no_number: return "no number";
    case too_many_digits: return "too many digits";
    case too_large: return "too large";
  }
  return "?";
}

TEST(decimal_text, is_read_whole_and_exactly) {
  EXPECT_EQ(read("12.50", 2), "1250");
  EXPECT_EQ(read("12.5", 2), "1250");
  EXPECT_EQ(read("12", 2), "1200");
  EXPECT_EQ(read("-0.05", 2), "-5");
  EXPECT_EQ(read("+7", 2), "700");
  EXPECT_EQ(read(".5", 1), "5");
  EXPECT_EQ(read("5.", 0), "5");
  EXPECT_EQ(read("12.500000000000000000000", 2), "1250");
  EXPECT_EQ(read("000000000000000000000000012.5", 2), "1250");
  EXPECT_EQ(read("-92233720368547758.08", 2), "-9223372036854775808");
  EXPECT_EQ(read("9.223372036854775807", 18), "9223372036854775807");
  for (const char* none : {"", ".", "-", "+-1", "--1", "1e3", "1,5", " 1", "1 ", "0x1", "1.2.3", "nan", "inf", "1_0"})
    EXPECT_EQ(read(none, 2), "no number") << none;
  EXPECT_EQ(read("12.505", 2), "too many digits");
  EXPECT_EQ(read("0.001", 2), "too many digits");
  EXPECT_EQ(read("92233720368547758.08", 2), "too large");
  EXPECT_EQ(read("-92233720368547758.09", 2), "too large");
  EXPECT_EQ(read("10", 18), "too large");
  EXPECT_EQ(read("100000000000000000000000000000000000000000", 0), "too large");
}

TEST(decimal_text, is_rounded_where_that_is_asked_for) {
  EXPECT_EQ(read("1.005", 2, true), "101");
  EXPECT_EQ(read("-1.005", 2, true), "-101");
  EXPECT_EQ(read("1.0049999999999999999999", 2, true), "100");
  EXPECT_EQ(read("0.5", 0, true), "1");
  EXPECT_EQ(read("0.4999", 0, true), "0");
  EXPECT_EQ(read("9.99", 1, true), "100");
  EXPECT_EQ(read("92233720368547758.0749", 2, true), "9223372036854775807");
  EXPECT_EQ(read("92233720368547758.075", 2, true), "too large");
  EXPECT_EQ(read("1.5x", 0, true), "no number");
}

TEST(decimal_text, has_all_digits_of_the_scale) {
  EXPECT_EQ(decimal_text(1250, 2), "12.50");
  EXPECT_EQ(decimal_text(-5, 2), "-0.05");
  EXPECT_EQ(decimal_text(0, 3), "0.000");
  EXPECT_EQ(decimal_text(-7, 0), "-7");
  EXPECT_EQ(decimal_text(std::numeric_limits<int64_t>::min(), 18), "-9.223372036854775808");
  EXPECT_EQ(decimal_text(std::numeric_limits<int64_t>::min(), 0), "-9223372036854775808");
  EXPECT_EQ(decimal_range(2), "-92233720368547758.08 to 92233720368547758.07");
}

TEST(decimal_text, is_read_again_as_what_was_written) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const auto units = static_cast<int64_t>(random() >> random() % 64);
    const auto scale = static_cast<uint32_t>(random() % (max_decimal_scale + 1));
    const std::string text = decimal_text(i % 2 == 0 ? units : -units, scale);
    ASSERT_LE(text.size(), max_decimal_chars);
    ASSERT_EQ(read(text, scale), std::to_string(i % 2 == 0 ? units : -units)) << text;
    ASSERT_EQ(text.size() - (scale > 0 ? text.find('.') + 1 : text.size()), scale);
  }
}

TEST(decimal_text, says_why_it_is_none) {
  EXPECT_EQ(why_no_decimal("12.505", 2), "it has 3 digits behind the point");
  EXPECT_EQ(why_no_decimal("x", 2), "a decimal has digits, a point and a sign, as in -12.50");
  EXPECT_EQ(why_no_decimal("100", 18), "it is not in the range -9.223372036854775808 to 9.223372036854775807");
  EXPECT_EQ(why_no_decimal("1.5", 2), "");
}

}  // namespace
}  // namespace flowrun::record
