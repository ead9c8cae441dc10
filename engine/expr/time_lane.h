// What expressions do with dates and timestamps, on lanes: i64, days or microseconds since 1970-01-01. Defined for
// every lane; what is computed lies in the years 1 to 9999, and stops at their ends.
#pragma once

#include <cstdint>

#include "engine/base/calendar.h"

namespace flowrun::expr {

enum class time_unit : uint8_t { microsecond, millisecond, second, minute, hour, day, week, month, quarter, year };

// What year() and the like take out of a time.
enum class day_part : uint8_t { year, quarter, month, day, weekday, day_of_year, week };
enum class clock_part : uint8_t { hour, minute, second, microsecond };

namespace time_lane {

#define FLOWRUN_LANE inline __attribute__((always_inline))

FLOWRUN_LANE uint64_t lane_of(int64_t value) { return static_cast<uint64_t>(value); }
// (No templates of the standard library: kernels.cc says why.)
FLOWRUN_LANE int64_t within(int64_t value, int64_t least, int64_t most) {
  return value < least ? least : value > most ? most : value;
}
FLOWRUN_LANE int64_t day_of_texts(int64_t days) { return within(days, calendar::first_day, calendar::last_day); }
FLOWRUN_LANE uint64_t day_lane(int64_t days) { return lane_of(day_of_texts(days)); }
FLOWRUN_LANE uint64_t us_lane(int64_t us) { return lane_of(within(us, calendar::first_us, calendar::last_us)); }

// A lane as a number of days that the calendar knows.
FLOWRUN_LANE int64_t days(uint64_t a) { return within(static_cast<int64_t>(a), INT32_MIN, INT32_MAX); }
FLOWRUN_LANE int64_t sum(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) return b < 0 ? INT64_MIN : INT64_MAX;
  return out;
}
FLOWRUN_LANE int64_t difference(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_sub_overflow(a, b, &out)) return b < 0 ? INT64_MAX : INT64_MIN;
  return out;
}
FLOWRUN_LANE int64_t floor_div(int64_t a, int64_t by) { return a / by - (a % by < 0 ? 1 : 0); }

FLOWRUN_LANE uint64_t days_of_us(uint64_t a) { return lane_of(calendar::day_of_us(static_cast<int64_t>(a))); }
FLOWRUN_LANE uint64_t us_of_days(uint64_t a) {
  return lane_of(day_of_texts(static_cast<int64_t>(a)) * calendar::us_per_day);
}
FLOWRUN_LANE uint64_t to_days(uint64_t a) { return day_lane(static_cast<int64_t>(a)); }
FLOWRUN_LANE uint64_t to_us(uint64_t a) { return us_lane(static_cast<int64_t>(a)); }

// a * m, which stops at the ends of i64.
FLOWRUN_LANE uint64_t scaled(uint64_t a, uint64_t m) {
  const auto value = static_cast<int64_t>(a);
  int64_t out = 0;
  if (__builtin_mul_overflow(value, static_cast<int64_t>(m), &out)) return lane_of(value < 0 ? INT64_MIN : INT64_MAX);
  return lane_of(out);
}
FLOWRUN_LANE uint64_t add_days(uint64_t a, uint64_t b) { return day_lane(sum(days(a), static_cast<int64_t>(b))); }
FLOWRUN_LANE uint64_t sub_days(uint64_t a, uint64_t b) {
  return day_lane(difference(days(a), static_cast<int64_t>(b)));
}
FLOWRUN_LANE uint64_t add_us(uint64_t a, uint64_t b) {
  return us_lane(sum(static_cast<int64_t>(a), static_cast<int64_t>(b)));
}

// Months since the year 0.
FLOWRUN_LANE int64_t month_number(const calendar::civil_date& date) { return int64_t{date.year} * 12 + date.month - 1; }
FLOWRUN_LANE int64_t first_of_month(int64_t month) {
  const int64_t year = floor_div(month, 12);
  return calendar::days_of(year, static_cast<uint32_t>(month - 12 * year) + 1, 1);
}

// The same day of another month, or that month's last.
FLOWRUN_LANE uint64_t add_months(uint64_t a, uint64_t b) {
  const calendar::civil_date date = calendar::civil_of(days(a));
  const int64_t month = sum(month_number(date), static_cast<int64_t>(b));
  if (month < 12) return lane_of(calendar::first_day);
  if (month >= 10'000 * 12) return lane_of(calendar::last_day);
  const int64_t year = month / 12;
  const auto of_year = static_cast<uint32_t>(month % 12) + 1;
  const uint32_t length = calendar::days_in_month(year, of_year);
  return lane_of(calendar::days_of(year, of_year, date.day < length ? date.day : length));
}
FLOWRUN_LANE uint64_t add_months_us(uint64_t a, uint64_t b) {
  const int64_t us = static_cast<int64_t>(a);
  const auto moved = static_cast<int64_t>(add_months(days_of_us(a), b));
  return us_lane(moved * calendar::us_per_day + calendar::us_of_day(us));
}

// m is a day_part.
FLOWRUN_LANE uint64_t part_of_day(uint64_t a, uint64_t m) {
  const int64_t at = days(a);
  switch (static_cast<day_part>(m)) {
    case day_part::year: return lane_of(calendar::civil_of(at).year);
    case day_part::quarter: return (calendar::civil_of(at).month + 2) / 3;
    case day_part::month: return calendar::civil_of(at).month;
    case day_part::day: return calendar::civil_of(at).day;
    case day_part::weekday: return lane_of(calendar::iso_weekday(at));
    case day_part::day_of_year: return lane_of(calendar::day_of_year(at));
    case day_part::week: return lane_of(calendar::iso_week(at));
  }
  return 0;
}

// m is a clock_part.
FLOWRUN_LANE uint64_t part_of_clock(uint64_t a, uint64_t m) {
  const int64_t at = calendar::us_of_day(static_cast<int64_t>(a));
  switch (static_cast<clock_part>(m)) {
    case clock_part::hour: return lane_of(at / calendar::us_per_hour);
    case clock_part::minute: return lane_of(at / calendar::us_per_minute % 60);
    case clock_part::second: return lane_of(at / calendar::us_per_second % 60);
    case clock_part::microsecond: return lane_of(at % calendar::us_per_second);
  }
  return 0;
}

// How many whole units lie between the beginning of the unit of 1970-01-01 and `a`. m is a time_unit: of a date from
// day to year, of a timestamp from microsecond to day.
FLOWRUN_LANE int64_t whole_days(uint64_t a, uint64_t m) {
  const int64_t at = days(a);
  switch (static_cast<time_unit>(m)) {
    case time_unit::week: return floor_div(at + 3, 7);  // 1970-01-01 was a Thursday
    case time_unit::month: return month_number(calendar::civil_of(at));
    case time_unit::quarter: return floor_div(month_number(calendar::civil_of(at)), 3);
    case time_unit::year: return calendar::civil_of(at).year;
    default: return at;
  }
}
FLOWRUN_LANE int64_t whole_us(uint64_t a, uint64_t m) {
  const auto at = static_cast<int64_t>(a);
  switch (static_cast<time_unit>(m)) {
    case time_unit::millisecond: return floor_div(at, 1000);
    case time_unit::second: return floor_div(at, calendar::us_per_second);
    case time_unit::minute: return floor_div(at, calendar::us_per_minute);
    case time_unit::hour: return floor_div(at, calendar::us_per_hour);
    case time_unit::day: return floor_div(at, calendar::us_per_day);
    default: return at;
  }
}
FLOWRUN_LANE uint64_t unit_of_day(uint64_t a, uint64_t m) { return lane_of(whole_days(a, m)); }
FLOWRUN_LANE uint64_t unit_of_us(uint64_t a, uint64_t m) { return lane_of(whole_us(a, m)); }

// The beginning of the unit.
FLOWRUN_LANE uint64_t trunc_day(uint64_t a, uint64_t m) {
  const int64_t at = days(a);
  switch (static_cast<time_unit>(m)) {
    case time_unit::week: return day_lane(at - calendar::iso_weekday(at) + 1);
    case time_unit::month: return day_lane(at - calendar::civil_of(at).day + 1);
    case time_unit::quarter: return day_lane(first_of_month(3 * floor_div(month_number(calendar::civil_of(at)), 3)));
    case time_unit::year: return day_lane(calendar::days_of(calendar::civil_of(at).year, 1, 1));
    default: return lane_of(at);
  }
}
FLOWRUN_LANE uint64_t trunc_us(uint64_t a, uint64_t m) {
  const auto at = static_cast<int64_t>(a);
  const auto without = [at](int64_t us) { return us_lane(difference(at, at % us < 0 ? at % us + us : at % us)); };
  switch (static_cast<time_unit>(m)) {
    case time_unit::millisecond: return without(1000);
    case time_unit::second: return without(calendar::us_per_second);
    case time_unit::minute: return without(calendar::us_per_minute);
    case time_unit::hour: return without(calendar::us_per_hour);
    case time_unit::day: return without(calendar::us_per_day);
    default: return a;
  }
}

#undef FLOWRUN_LANE

}  // namespace time_lane
}  // namespace flowrun::expr
