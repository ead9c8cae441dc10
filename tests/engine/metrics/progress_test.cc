#include "engine/metrics/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flowrun::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(progress_estimate, knows_nothing_at_first) {
  progress_estimate e;
  EXPECT_FALSE(e.seconds_left());
  EXPECT_EQ(e.rows_per_second(), 0);
  e.update(0, 0, 0);
  e.update(0.5, 0.1, 10);
  EXPECT_FALSE(e.seconds_left());  // too early
  EXPECT_DOUBLE_EQ(e.rows_per_second(), 20);
}

TEST(progress_estimate, extrapolates_an_even_speed) {
  progress_estimate e;
  for (int i = 0; i <= 40; ++i) e.update(i, i * 0.01, static_cast<uint64_t>(i) * 1000);
  ASSERT_TRUE(e.seconds_left());
  EXPECT_NEAR(*e.seconds_left(), 60, 1e-6);
  EXPECT_NEAR(e.rows_per_second(), 1000, 1e-6);
}

TEST(progress_estimate, follows_a_change_of_speed) {
  progress_estimate e;
  for (int i = 0; i <= 100; ++i) e.update(i, i * 0.001, 0);            // 0.1 in 100 s
  for (int i = 1; i <= 20; ++i) e.update(100 + i, 0.1 + i * 0.02, 0);  // then twenty times as fast
  // Left 0.5; recent speed 0.02, overall 0.5/120: their mean is 0.01208.
  ASSERT_TRUE(e.seconds_left());
  EXPECT_NEAR(*e.seconds_left(), 0.5 / ((0.02 + 0.5 / 120) / 2), 1e-6);
}

TEST(progress_estimate, forgets_what_lies_before_its_window) {
  progress_estimate e;
  e.update(0, 0, 0);
  e.update(1, 0.1, 1'000'000);
  for (int i = 2; i <= 40; ++i) e.update(i, 0.1, 1'000'000 + static_cast<uint64_t>(i));
  EXPECT_NEAR(e.rows_per_second(), 1, 1e-6);
}

TEST(progress_estimate, says_nothing_while_nothing_moves) {
  progress_estimate e;
  for (int i = 0; i <= 40; ++i) e.update(i, 0, 0);
  EXPECT_FALSE(e.seconds_left());
}

TEST(progress_estimate, never_goes_back_and_stays_in_bounds) {
  progress_estimate e;
  e.update(0, 0.5, 1);
  e.update(1, 0.4, 1);
  EXPECT_DOUBLE_EQ(e.ratio(), 0.5);
  e.update(2, 7, 1);
  EXPECT_DOUBLE_EQ(e.ratio(), 1);
  ASSERT_TRUE(e.seconds_left());
  EXPECT_DOUBLE_EQ(*e.seconds_left(), 0);
}

progress_estimate half_way() {
  progress_estimate e;
  e.update(0, 0, 0);
  e.update(10, 0.5, 20'000'000);
  return e;
}

const progress_state merging{2, 3, true, 20'000'000, 10, "sorted"};

TEST(progress_text, bar) {
  EXPECT_EQ(progress_bar(half_way(), merging, 200, false),
            "  50% ##########..........  2/3 sorted, 2.00 M rows/s, 10.0 s left");
  EXPECT_THAT(progress_bar(half_way(), merging, 200, true), HasSubstr("██████████          "));
  EXPECT_EQ(progress_bar(half_way(), merging, 10, true), "  50% ████");  // ten columns, not ten bytes
}

TEST(progress_text, an_unknown_total_is_marked) {
  progress_state guess = merging;
  guess.ratio_known = false;
  EXPECT_THAT(progress_bar(half_way(), guess, 200, false), HasSubstr("~50%"));
}

TEST(progress_text, is_not_complete_before_the_end) {
  progress_estimate e;
  e.update(0, 0.9999, 1);
  EXPECT_THAT(progress_bar(e, merging, 200, false), HasSubstr(" 99%"));
  e.update(1, 1, 1);
  EXPECT_THAT(progress_bar(e, merging, 200, false), HasSubstr("100%"));
}

TEST(progress_text, line_and_json) {
  EXPECT_EQ(progress_line(half_way(), merging),
            "50 %, phase 2 of 3 (sorted), 2.00 M rows/s, 10.0 s so far, 10.0 s left");
  EXPECT_EQ(
      progress_json(half_way(), merging),
      R"({"ratio":0.5,"ratio_known":true,"phase":2,"phases":3,"activity":"sorted","rows":20000000,)"
      R"("rows_per_second":2000000,"elapsed_seconds":10.0,"seconds_left":10})");
  progress_state odd = merging;
  odd.activity = "a\"b\\\n";
  EXPECT_THAT(progress_json(progress_estimate(), odd), HasSubstr(R"("activity":"a\"b\\\n")"));
  EXPECT_THAT(progress_json(progress_estimate(), odd), HasSubstr(R"("seconds_left":null})"));
}

TEST(progress_text, no_time_is_told_where_the_ratio_is_a_guess) {
  progress_state guessed = merging;
  guessed.ratio_known = false;
  EXPECT_EQ(progress_line(half_way(), guessed), "~50 %, phase 2 of 3 (sorted), 2.00 M rows/s, 10.0 s so far");
  EXPECT_THAT(progress_bar(half_way(), guessed, 200, false), Not(HasSubstr("left")));
  EXPECT_THAT(progress_json(half_way(), guessed), HasSubstr(R"("seconds_left":null})"));
}

TEST(progress_text, rates) {
  EXPECT_EQ(format_rate(850), "850");
  EXPECT_EQ(format_rate(1000), "1.00 k");
  EXPECT_EQ(format_rate(12'345'678), "12.3 M");
  EXPECT_EQ(format_rate(999'600), "1.00 M");
  EXPECT_EQ(format_rate(3.4e9), "3.40 G");
}

}  // namespace
}  // namespace flowrun::metrics
