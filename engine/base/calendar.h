// Dates and times of day: the Gregorian calendar, also before it was introduced, and ISO 8601.
//
// A date is the number of days since 1970-01-01, a timestamp the number of microseconds since then, UTC, without leap
// seconds. Texts have the years 1 to 9999. Other numbers are printed as ISO 8601 extends it, with a sign before the
// year.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace flowrun::calendar {

constexpr int64_t us_per_second = 1'000'000;
constexpr int64_t us_per_minute = 60 * us_per_second;
constexpr int64_t us_per_hour = 60 * us_per_minute;
constexpr int64_t us_per_day = 24 * us_per_hour;

constexpr int64_t first_day = -719'162;  // 0001-01-01
constexpr int64_t last_day = 2'932'896;  // 9999-12-31
constexpr int64_t first_us = first_day * us_per_day;
constexpr int64_t last_us = (last_day + 1) * us_per_day - 1;

// The first character of the extended form's year is a sign.
constexpr size_t max_date_chars = 16;
constexpr size_t max_timestamp_chars = 32;

struct civil_date {
  int32_t year = 1970;
  uint32_t month = 1;  // 1 to 12
  uint32_t day = 1;    // 1 to 31
};

// Both ways by Neri and Schneider, "Euclidean affine functions and their application to calendar algorithms" (2022),
// with 64 bits, so that every i32 is a date: divisions by constants, and no branches. Years begin in March there, and
// all is moved by whole periods of 400 years so that nothing is below 0.
constexpr uint64_t moved_periods = 14'701;
constexpr uint64_t days_of_period = 146'097;
constexpr uint64_t moved_days = 719'468 + days_of_period * moved_periods;
constexpr uint64_t moved_years = 400 * moved_periods;

// `days` is an i32.
inline civil_date civil_of(int64_t days) {
  const uint64_t moved = static_cast<uint64_t>(days) + moved_days;
  const uint64_t in_centuries = 4 * moved + 3;
  const uint64_t century = in_centuries / days_of_period;
  const uint64_t in_years = 4 * (in_centuries % days_of_period / 4) + 3;
  const uint64_t scaled = 2'939'745 * in_years;
  const uint64_t year = 100 * century + (scaled >> 32);
  const uint32_t day_of_year = static_cast<uint32_t>(scaled) / 2'939'745 / 4;
  const uint32_t in_months = 2'141 * day_of_year + 197'913;
  const uint32_t month = in_months >> 16;
  const uint32_t day = (in_months & 0xFFFF) / 2'141;
  const uint32_t next_year = day_of_year >= 306 ? 1 : 0;
  return {static_cast<int32_t>(static_cast<int64_t>(year + next_year) - static_cast<int64_t>(moved_years)),
          month - 12 * next_year, day + 1};
}

// `month` is 1 to 12; a day behind the month's end is one of the next month.
inline int64_t days_of(int64_t year, uint32_t month, uint32_t day) {
  const uint64_t in_next = month <= 2 ? 1 : 0;
  const uint64_t moved = static_cast<uint64_t>(year) + moved_years - in_next;
  const uint64_t century = moved / 100;
  const uint64_t of_years = 1'461 * moved / 4 - century + century / 4;
  const uint64_t of_months = (979 * (month + 12 * in_next) - 2'919) / 32;
  return static_cast<int64_t>(of_years + of_months + day - 1) - static_cast<int64_t>(moved_days);
}

inline bool is_leap_year(int64_t year) { return (year & (year % 25 == 0 ? 15 : 3)) == 0; }
inline uint32_t days_in_month(int64_t year, uint32_t month) {
  if (month == 2) return is_leap_year(year) ? 29 : 28;
  return 30 | ((month ^ (month >> 3)) & 1);
}

// Rounds down.
inline int64_t day_of_us(int64_t us) { return us / us_per_day - (us % us_per_day < 0 ? 1 : 0); }
// In [0, us_per_day).
inline int64_t us_of_day(int64_t us) {
  const int64_t rest = us % us_per_day;
  return rest < 0 ? rest + us_per_day : rest;
}

// Monday is 1, Sunday 7. `days` is an i32.
inline int64_t iso_weekday(int64_t days) {
  constexpr int64_t whole_weeks = int64_t{7} << 40;
  return (days + 3 + whole_weeks) % 7 + 1;
}
// From 1.
inline int64_t day_of_year(int64_t days) { return days - days_of(civil_of(days).year, 1, 1) + 1; }
// By ISO 8601, 1 to 53: the week, which begins on Monday, belongs to the year of its Thursday.
inline int64_t iso_week(int64_t days) { return (day_of_year(days - iso_weekday(days) + 4) - 1) / 7 + 1; }

// The whole text has to be
//   date       2026-11-23
//   timestamp  the same, or with a time of day behind T or a blank: 22:15, 22:15:03, 22:15:03.123456; then perhaps a
//              zone, Z or +02:00 or +0200 or +02, which is taken off. Behind the sixth digit of a fraction up to three
//              more may stand, which are dropped. Without a zone it is UTC.
// False, and the result undefined, where it is not.
bool parse_date(std::string_view text, int64_t& days);
bool parse_timestamp(std::string_view text, int64_t& us);

// Why they refuse a text: "February 2026 has 28 days".
std::string why_no_date(std::string_view text);
std::string why_no_timestamp(std::string_view text);
// "January" to "December".
std::string_view month_name(uint32_t month);
// "Monday" to "Sunday", for 1 to 7.
std::string_view weekday_name(int64_t weekday);

// 2026-11-23, and 2026-11-23T22:15:03Z or, with a fraction, 2026-11-23T22:15:03.123456Z. They return the end of what
// they write, at most max_date_chars or max_timestamp_chars. `days` is an i32.
char* write_date(int64_t days, char* to);
char* write_timestamp(int64_t us, char* to);

}  // namespace flowrun::calendar
