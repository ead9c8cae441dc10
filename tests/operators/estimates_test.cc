// What is expected of a text whose beginning is known, and what can't be exceeded.
#include "operators/parts/rules/estimates.h"

#include <gtest/gtest.h>

#include <string>

namespace flowrun::operators {
namespace {

using record::type_kind;
using record::value_type;

record::row_type pair_of(type_kind a, type_kind b) {
  return record::row_type({{"a", value_type::of(a)}, {"b", value_type::of(b)}});
}

std::string repeated(const std::string& line, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += line;
  return out;
}

TEST(of_text, short_fields_are_counted_and_not_assumed) {
  const record::row_type edge = pair_of(type_kind::u32, type_kind::u32);
  const plan::row_estimate e = of_text(60'000'000, repeated("1,2\n", 1000), '\n', 4, edge);
  EXPECT_TRUE(e.known);
  EXPECT_FALSE(e.exact);
  EXPECT_NEAR(static_cast<double>(e.rows), 15e6, 10);
  EXPECT_EQ(e.most_rows, 15'000'001U);
  EXPECT_LE(e.rows, e.most_rows);
  EXPECT_LE(e.num_bytes, e.most_bytes);
}

TEST(of_text, bounds_hold_whatever_the_beginning_says) {
  const record::row_type line({{"text", value_type::of(type_kind::string)}});
  for (const std::string& sample : {std::string(), std::string(1000, 'x'), repeated(std::string(99, 'x') + "\n", 10)}) {
    const plan::row_estimate e = of_text(1'000'000, sample, '\n', 1, line);
    EXPECT_EQ(e.most_rows, 1'000'001U);  // all lines may be empty
    EXPECT_GE(e.most_bytes, 1'000'000 + e.most_rows * line.row_bytes());
    EXPECT_LE(e.rows, e.most_rows);
    EXPECT_FALSE(e.bounds_rows());
  }
  EXPECT_EQ(of_text(1'000'000, repeated(std::string(99, 'x') + "\n", 10), '\n', 1, line).rows, 10'001U);
}

TEST(of_text, an_empty_file_has_next_to_nothing) {
  const plan::row_estimate e = of_text(0, "", '\n', 4, pair_of(type_kind::u32, type_kind::u32));
  EXPECT_EQ(e.rows, 1U);
  EXPECT_EQ(e.most_rows, 1U);
}

TEST(estimates, bounds_go_on_through_the_graph) {
  const record::row_type narrow = pair_of(type_kind::u32, type_kind::u32);
  const record::row_type wide = pair_of(type_kind::u64, type_kind::u64);
  const plan::row_estimate exact = exactly(100, narrow);
  EXPECT_TRUE(exact.exact && exact.bounds_rows() && exact.bounds_bytes());
  const plan::row_estimate filtered = at_most(exact);
  EXPECT_FALSE(filtered.exact);
  EXPECT_TRUE(filtered.bounds_rows());
  EXPECT_EQ(with_type(filtered, narrow, wide).most_bytes, 1600U);
  EXPECT_EQ(times(filtered, 3).most_rows, 300U);
  EXPECT_EQ(sum(filtered, exact).most_rows, 200U);
  EXPECT_EQ(limited(filtered, 10, narrow).most_bytes, 80U);
  EXPECT_EQ(skipped(filtered, 90, narrow).most_bytes, 80U);
  const plan::row_estimate later = skipped(exact, 30, narrow);
  EXPECT_TRUE(later.exact && later.rows == 70 && later.num_bytes == 560 && later.most_rows == 70);
  EXPECT_EQ(skipped(exact, 101, narrow).most_bytes, 0U);
  // Nothing is known of texts that an expression makes.
  const record::row_type text({{"t", value_type::of(type_kind::string)}});
  EXPECT_FALSE(with_type(filtered, narrow, text).bounds_bytes());
  EXPECT_TRUE(with_type(filtered, narrow, text).bounds_rows());
  // No bound stays none.
  plan::row_estimate open;
  open.known = true;
  open.rows = 5;
  EXPECT_EQ(times(open, 7).most_rows, plan::row_estimate::unbounded);
  EXPECT_EQ(skipped(open, 7, narrow).most_rows, plan::row_estimate::unbounded);
  EXPECT_EQ(sum(open, exact).most_bytes, plan::row_estimate::unbounded);
}

}  // namespace
}  // namespace flowrun::operators
