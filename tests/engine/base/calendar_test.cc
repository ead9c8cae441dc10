// The calendar beside that of the standard library, over all years that texts have; ISO 8601 read and written.
#include "engine/base/calendar.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

namespace flowrun::calendar {
namespace {

std::optional<int64_t> date(std::string_view text) {
  int64_t days = 0;
  return parse_date(text, days) ? std::optional(days) : std::nullopt;
}
std::optional<int64_t> timestamp(std::string_view text) {
  int64_t us = 0;
  return parse_timestamp(text, us) ? std::optional(us) : std::nullopt;
}
std::string written_date(int64_t days) {
  char out[max_date_chars];
  return {out, write_date(days, out)};
}
std::string written_timestamp(int64_t us) {
  char out[max_timestamp_chars];
  return {out, write_timestamp(us, out)};
}

TEST(calendar, every_day_is_that_of_the_standard_library) {
  using namespace std::chrono;
  for (int64_t days = first_day; days <= last_day; ++days) {
    const sys_days day{std::chrono::days{days}};
    const year_month_day other{day};
    const civil_date mine = civil_of(days);
    ASSERT_EQ(mine.year, static_cast<int>(other.year())) << days;
    ASSERT_EQ(mine.month, static_cast<unsigned>(other.month())) << days;
    ASSERT_EQ(mine.day, static_cast<unsigned>(other.day())) << days;
    ASSERT_EQ(days_of(mine.year, mine.month, mine.day), days);
    ASSERT_EQ(static_cast<unsigned>(iso_weekday(days)), weekday{day}.iso_encoding()) << days;
    ASSERT_EQ(day_of_year(days), (day - sys_days{other.year() / 1 / 1}).count() + 1);
    char text[max_date_chars];
    const std::string_view iso(text, static_cast<size_t>(write_date(days, text) - text));
    ASSERT_EQ(date(iso), days) << iso;
  }
}

TEST(calendar, lengths_of_months_are_those_of_the_standard_library) {
  using namespace std::chrono;
  for (int y = 1; y <= 9999; ++y)
    for (unsigned m = 1; m <= 12; ++m)
      ASSERT_EQ(days_in_month(y, m), static_cast<unsigned>((year{y} / month{m} / last).day())) << y << '-' << m;
}

TEST(calendar, days_beyond_the_years_of_texts_are_days_too) {
  constexpr int64_t least = std::numeric_limits<int32_t>::min(), most = std::numeric_limits<int32_t>::max();
  for (const int64_t from : {least, most - 100'000, first_day - 50'000, last_day - 50'000})
    for (int64_t days = from; days <= from + 100'000; ++days) {
      const civil_date d = civil_of(days);
      ASSERT_EQ(days_of(d.year, d.month, d.day), days);
      ASSERT_LE(written_date(days).size(), max_date_chars);
    }
  EXPECT_EQ(written_date(last_day + 1), "+10000-01-01");
  EXPECT_EQ(written_date(first_day - 1), "0000-12-31");
  EXPECT_EQ(written_date(first_day - 367), "-0001-12-31");
  EXPECT_EQ(written_date(most), "+5881580-07-11");
  EXPECT_EQ(written_date(least), "-5877641-06-23");
}

TEST(calendar, weeks_of_iso_8601) {
  EXPECT_EQ(iso_week(*date("2021-01-03")), 53);
  EXPECT_EQ(iso_week(*date("2021-01-04")), 1);
  EXPECT_EQ(iso_week(*date("2024-12-30")), 1);
  EXPECT_EQ(iso_week(*date("2026-11-23")), 48);
  EXPECT_EQ(iso_week(*date("2020-12-31")), 53);
  EXPECT_EQ(iso_weekday(*date("2026-11-23")), 1);
}

TEST(calendar, dates_are_ten_bytes) {
  EXPECT_EQ(date("1970-01-01"), 0);
  EXPECT_EQ(date("1969-12-31"), -1);
  EXPECT_EQ(date("0001-01-01"), first_day);
  EXPECT_EQ(date("9999-12-31"), last_day);
  EXPECT_EQ(date("2024-02-29"), 19782);
  for (const char* text : {"",
                           "2026",
                           "2026-1-01",
                           "2026-01-1",
                           "2026-01-01 ",
                           " 2026-01-01",
                           "2026/01/01",
                           "20260101",
                           "2026-13-01",
                           "2026-00-01",
                           "2026-01-00",
                           "2026-01-32",
                           "2026-02-29",
                           "1900-02-29",
                           "0000-01-01",
                           "2026-04-31",
                           "202a-01-01",
                           "2026-01-0:",
                           "2026-01-\xff\xff",
                           "-026-01-01",
                           "\xb0\xb0\xb0\xb0-01-01",
                           "2026-01-01T00:00"})
    EXPECT_EQ(date(text), std::nullopt) << text;
}

TEST(calendar, each_byte_of_a_date_is_looked_at) {
  const std::string right = "2026-11-23";
  for (size_t i = 0; i < right.size(); ++i)
    for (int byte = 0; byte < 256; ++byte) {
      std::string text = right;
      text[i] = static_cast<char>(byte);
      const bool could_be = i == 4 || i == 7 ? byte == '-' : byte >= '0' && byte <= '9';
      if (const auto days = date(text)) {
        EXPECT_TRUE(could_be) << text;
        EXPECT_EQ(written_date(*days), text);
      }
    }
}

TEST(calendar, timestamps) {
  EXPECT_EQ(timestamp("1970-01-01"), 0);
  EXPECT_EQ(timestamp("1970-01-01T00:00"), 0);
  EXPECT_EQ(timestamp("1970-01-01 00:00:01"), 1'000'000);
  EXPECT_EQ(timestamp("1970-01-01T00:00:00.5"), 500'000);
  EXPECT_EQ(timestamp("1970-01-01T00:00:00.000001"), 1);
  EXPECT_EQ(timestamp("1970-01-01T00:00:00.123456789"), 123'456);
  EXPECT_EQ(timestamp("1969-12-31T23:59:59.999999Z"), -1);
  EXPECT_EQ(timestamp("1970-01-01T02:00:00+02:00"), 0);
  EXPECT_EQ(timestamp("1970-01-01T02:00+0200"), 0);
  EXPECT_EQ(timestamp("1970-01-01T02:00+02"), 0);
  EXPECT_EQ(timestamp("1969-12-31T18:30:00-05:30"), 0);
  EXPECT_EQ(timestamp("2026-11-23T22:15:03.123456Z"), 1'795'472'103'123'456);
  EXPECT_EQ(timestamp("0001-01-01T00:00:00"), first_us);
  EXPECT_EQ(timestamp("9999-12-31T23:59:59.999999"), last_us);
  for (const char* text : {"",
                           "2026-01-01T",
                           "2026-01-01T1",
                           "2026-01-01T10",
                           "2026-01-01T24:00",
                           "2026-01-01T10:60",
                           "2026-01-01T10:00:60",
                           "2026-01-01T10:00:0",
                           "2026-01-01T10:00:00.",
                           "2026-01-01T10:00:00.1234567890",
                           "2026-01-01T10:00:00,5",
                           "2026-01-01T10:00:00ZZ",
                           "2026-01-01T10:00:00 Z",
                           "2026-01-01T10:00:00+",
                           "2026-01-01T10:00:00+1",
                           "2026-01-01T10:00:00+100",
                           "2026-01-01T10:00:00+01:0",
                           "2026-01-01T10:00:00+24:00",
                           "2026-01-01T10:00:00+01:60",
                           "2026-01-01T10:00:00+01:000",
                           "2026-01-01T10:00:00+01:",
                           "2026-01-01_10:00",
                           "0001-01-01T00:00+01:00",
                           "9999-12-31T23:59-01:00",
                           "2026-02-30T10:00",
                           "2026-01-01T10.00"})
    EXPECT_EQ(timestamp(text), std::nullopt) << text;
}

TEST(calendar, timestamps_are_written_as_they_are_read) {
  uint64_t random = 1;
  for (int i = 0; i < 200'000; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    const int64_t us = first_us + static_cast<int64_t>((random >> 1) % static_cast<uint64_t>(last_us - first_us));
    ASSERT_EQ(timestamp(written_timestamp(us)), us) << written_timestamp(us);
  }
  EXPECT_EQ(written_timestamp(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(written_timestamp(-1), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(written_timestamp(1'795'472'103'100'000), "2026-11-23T22:15:03.100000Z");
  EXPECT_EQ(written_timestamp(std::numeric_limits<int64_t>::max()), "+294247-01-10T04:00:54.775807Z");
  EXPECT_EQ(written_timestamp(std::numeric_limits<int64_t>::min()), "-290308-12-21T19:59:05.224192Z");
}

TEST(calendar, a_refusal_says_why) {
  EXPECT_EQ(why_no_date("2026-02-29"), "February 2026 has 28 days");
  EXPECT_EQ(why_no_date("2024-02-30"), "February 2024 has 29 days");
  EXPECT_EQ(why_no_date("2026-11-31"), "November 2026 has 30 days");
  EXPECT_EQ(why_no_date("2026-13-01"), "there is no month 13");
  EXPECT_EQ(why_no_date("2026-00-01"), "there is no month 00");
  EXPECT_EQ(why_no_date("2026-01-00"), "days of a month are counted from 01");
  EXPECT_EQ(why_no_date("0000-01-01"), "years are 0001 to 9999");
  EXPECT_EQ(why_no_date("23.11.2026"), "a date is written as 2026-11-23");
  EXPECT_EQ(why_no_date("2026-11-23T10:00"), "a time of day stands behind the date");
  EXPECT_EQ(why_no_date("2026-11-23x"), "a date is written as 2026-11-23");
  EXPECT_EQ(why_no_timestamp("2026-02-29T10:00"), "February 2026 has 28 days");
  EXPECT_EQ(why_no_timestamp("2026-11-23T24:00"), "hours are 00 to 23");
  EXPECT_EQ(why_no_timestamp("2026-11-23T10:60"), "minutes are 00 to 59");
  EXPECT_EQ(why_no_timestamp("2026-11-23T10:00:60"), "seconds are 00 to 59: there are no leap seconds");
  EXPECT_EQ(why_no_timestamp("0001-01-01T00:00+01:00"), "in UTC it is outside of the years 0001 to 9999");
  EXPECT_TRUE(why_no_timestamp("noon").starts_with("a timestamp is written as 2026-11-23T22:15:03.123456Z"));
}

}  // namespace
}  // namespace flowrun::calendar
