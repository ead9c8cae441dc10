// Patterns of dates and times: beside strftime and strptime of the C library, and what they refuse.
#include "engine/base/time_format.h"

#include <gtest/gtest.h>

#include <ctime>
#include <optional>

#include "engine/base/calendar.h"

namespace flowrun::calendar {
namespace {

time_format format_of(std::string_view pattern) { return std::get<time_format>(time_format::of(pattern)); }
std::optional<int64_t> read(std::string_view pattern, std::string_view text) {
  int64_t us = 0;
  return format_of(pattern).parse(text, us) ? std::optional(us) : std::nullopt;
}
std::string printed(std::string_view pattern, int64_t us) {
  const time_format format = format_of(pattern);
  std::string out(format.max_chars(), '\0');
  const size_t length = static_cast<size_t>(format.print(us, out.data()) - out.data());
  EXPECT_LE(length, format.max_chars()) << pattern;
  out.resize(length);
  return out;
}
int64_t us_of(std::string_view iso) {
  int64_t us = 0;
  EXPECT_TRUE(parse_timestamp(iso, us)) << iso;
  return us;
}

TEST(time_format, prints_as_strftime_does) {
  uint64_t random = 7;
  for (int i = 0; i < 20'000; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    const int64_t us = us_of("1000-01-01") +
                       static_cast<int64_t>((random >> 1) % static_cast<uint64_t>(last_us - us_of("1000-01-01")));
    const time_t seconds = day_of_us(us) * 86400 + us_of_day(us) / us_per_second;
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    for (const char* pattern :
         {"%Y-%m-%d %H:%M:%S", "%y %b %B %a %A %j %u %V %G", "%I:%M %p|%e|%%", "%F %T %R %D", "%s"}) {
      char other[200];
      other[std::strftime(other, sizeof other, pattern, &parts)] = '\0';
      ASSERT_EQ(printed(pattern, us), other) << pattern;
    }
  }
  EXPECT_EQ(printed("%f %z %Z", us_of("2026-01-01T00:00:00.000012")), "000012 +0000 UTC");
}

TEST(time_format, reads_what_it_prints) {
  uint64_t random = 9;
  for (int i = 0; i < 20'000; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    const int64_t us = first_us + static_cast<int64_t>((random >> 1) % static_cast<uint64_t>(last_us - first_us));
    for (const char* pattern : {"%d.%m.%Y %H:%M:%S.%f", "%Y%m%d%H%M%S%f", "%A, %e %B %Y %I:%M:%S.%f %p",
                                "%Y %j %T.%f %z", "%b %d %Y %T %f %Z"})
      ASSERT_EQ(read(pattern, printed(pattern, us)), us) << printed(pattern, us);
    const int64_t second = us - us_of_day(us) % us_per_second;
    ASSERT_EQ(read("%s", printed("%s", us)), second);
  }
}

TEST(time_format, reads_what_people_write) {
  EXPECT_EQ(read("%d.%m.%Y", "1.2.2026"), us_of("2026-02-01"));
  EXPECT_EQ(read("%m/%d/%y", "11/23/26"), us_of("2026-11-23"));
  EXPECT_EQ(read("%y", "69"), us_of("1969-01-01"));
  EXPECT_EQ(read("%y", "68"), us_of("2068-01-01"));
  EXPECT_EQ(read("%Y-%m", "2026-11"), us_of("2026-11-01"));
  EXPECT_EQ(read("%d %b %Y", "23 NOV 2026"), us_of("2026-11-23"));
  EXPECT_EQ(read("%d %b %Y", "23 november 2026"), us_of("2026-11-23"));
  EXPECT_EQ(read("%d/%b/%Y:%H:%M:%S %z", "23/Nov/2026:22:15:03 +0100"), us_of("2026-11-23T21:15:03"));
  EXPECT_EQ(read("%Y-%m-%dT%H:%M:%S%z", "2026-11-23T22:15:03-05:30"), us_of("2026-11-24T03:45:03"));
  EXPECT_EQ(read("%Y-%m-%d %I %p", "2026-11-23 12 am"), us_of("2026-11-23"));
  EXPECT_EQ(read("%Y-%m-%d %I %p", "2026-11-23 12 PM"), us_of("2026-11-23T12:00"));
  EXPECT_EQ(read("%s.%f", "1795472103.5"), us_of("2026-11-23T22:15:03.5"));
  EXPECT_EQ(read("%Y %j", "2024 366"), us_of("2024-12-31"));
}

TEST(time_format, refuses_other_texts) {
  for (const auto& [pattern, text] :
       std::initializer_list<std::pair<const char*, const char*>>{{"%d.%m.%Y", ""},
                                                                  {"%d.%m.%Y", "31.11.2026"},
                                                                  {"%d.%m.%Y", "1.13.2026"},
                                                                  {"%d.%m.%Y", "0.1.2026"},
                                                                  {"%d.%m.%Y", "1.1.2026 "},
                                                                  {"%d.%m.%Y", "1.1.0"},
                                                                  {"%d.%m.%Y", "29.02.2023"},
                                                                  {"%Y %j", "2023 366"},
                                                                  {"%Y %H:%M", "2026 24:00"},
                                                                  {"%Y %H:%M", "2026 10:60"},
                                                                  {"%Y %I %p", "2026 13 pm"},
                                                                  {"%Y %I %p", "2026 0 am"},
                                                                  {"%Y %b", "2026 foo"},
                                                                  {"%Y %z", "2026 5"},
                                                                  {"%Y %z", "2026 +1"},
                                                                  {"%Y %Z", "2026 CET"},
                                                                  {"%s", "x"},
                                                                  {"%s", "999999999999"},
                                                                  {"%Y %f", "2026 x"},
                                                                  {"a%Yb", "a2026"},
                                                                  {"%Y %u", "2026 8"}})
    EXPECT_EQ(read(pattern, text), std::nullopt) << pattern << " of " << text;
}

TEST(time_format, a_wrong_pattern_is_a_fault_at_its_place) {
  const auto fault_of = [](std::string_view pattern) { return std::get<time_format::fault>(time_format::of(pattern)); };
  EXPECT_EQ(fault_of("%Y-%Q").offset, 3U);
  EXPECT_EQ(fault_of("%Y-%Q").message, "unknown %Q");
  EXPECT_EQ(fault_of("%Y%").offset, 2U);
  EXPECT_EQ(fault_of("").message, "the pattern is empty");
  EXPECT_EQ(fault_of("%\xc3").message, "no letter stands behind %");
  EXPECT_EQ(format_of("%Y-%V").why_no_reading(), "%V and %G are only printed");
  EXPECT_EQ(format_of("%d.%m.").why_no_reading(), "it has no year: %Y or %y");
  EXPECT_EQ(format_of("%d %Y").why_no_reading(), "it has a day and no month: %m, %b or %B");
  EXPECT_EQ(format_of("%Y %I").why_no_reading(), "%I and %p need each other");
  EXPECT_EQ(format_of("%Y %j").why_no_reading(), "");
  EXPECT_FALSE(format_of("%Y %j").has_clock());
  EXPECT_TRUE(format_of("%F %R").has_clock());
}

TEST(time_format, what_is_beyond_the_years_of_texts_is_printed_within_bounds) {
  for (const int64_t us : {INT64_MIN, INT64_MAX, first_us - 1, last_us + 1})
    for (const char* pattern : {"%Y", "%y", "%s", "%F %T", "%j %V %u %I"}) EXPECT_FALSE(printed(pattern, us).empty());
}

}  // namespace
}  // namespace flowrun::calendar
