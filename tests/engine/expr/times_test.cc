// Dates and timestamps in expressions, beside plain loops over std::chrono, and what is refused.
#include "engine/expr/times.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "engine/base/calendar.h"
#include "engine/expr/aggregate.h"
#include "tests/engine/expr/program_harness.h"

namespace flowrun::expr {
namespace {

using testing::cell;
using ::testing::HasSubstr;

const record::row_type columns = testing::type_of({{"day", "date"},
                                                   {"other", "date"},
                                                   {"at", "timestamp"},
                                                   {"later", "timestamp"},
                                                   {"n", "i64"},
                                                   {"u", "u64"},
                                                   {"x", "f64"},
                                                   {"ok", "bool"},
                                                   {"text", "string"}});

int64_t day_of(std::string_view text) {
  int64_t days = 0;
  EXPECT_TRUE(calendar::parse_date(text, days)) << text;
  return days;
}
int64_t us_of(std::string_view text) {
  int64_t us = 0;
  EXPECT_TRUE(calendar::parse_timestamp(text, us)) << text;
  return us;
}

// The value of a text over one row.
cell value(const std::string& text) {
  const std::vector<testing::row> rows = {{day_of("2026-11-23"), day_of("2024-02-29"), us_of("2026-11-23T22:15:03.5"),
                                           us_of("2026-12-01"), int64_t{-3}, uint64_t{5}, 1.5, uint64_t{1},
                                           std::string("23.11.2026 22:15")}};
  return testing::evaluate_rows(text, columns, testing::pack(columns, rows))[0];
}
std::string shown(const std::string& text) { return std::get<std::string>(value("string(" + text + ")")); }
int64_t number(const std::string& text) { return std::get<int64_t>(value(text)); }
bool holds(const std::string& text) { return std::get<uint64_t>(value(text)) == 1; }
std::string type_name(const std::string& text) { return testing::type_name_over(text, columns); }
problem refusal(const std::string& text) { return testing::refusal_over(text, columns); }

TEST(times, constant_texts_beside_times_are_times) {
  EXPECT_TRUE(holds("day == '2026-11-23'"));
  EXPECT_TRUE(holds("'2026-11-24' > day"));
  EXPECT_TRUE(holds("at >= '2026-11-23T22:15:03.5Z' and at < '2026-11-24'"));
  EXPECT_TRUE(holds("at == '2026-11-23 23:15:03.5+01:00'"));
  EXPECT_TRUE(holds("(day, n) < ('2026-11-23', 0)"));
  EXPECT_EQ(shown("if(ok, day, '2000-01-01')"), "2026-11-23");
  EXPECT_EQ(shown("if(not ok, day, '2000-01-01')"), "2000-01-01");
  EXPECT_EQ(shown("max(day, other, '2030-01-01')"), "2030-01-01");
  EXPECT_EQ(shown("min(at, later)"), "2026-11-23T22:15:03.500000Z");
  EXPECT_EQ(type_name("min('2020-01-01', day)"), "date");
  EXPECT_EQ(number("day - '2026-01-01'"), 326);
  EXPECT_EQ(number("'2026-01-01' - day"), -326);
  EXPECT_EQ(number("at - '2026-11-23T22:15:03'"), 500'000);
}

TEST(times, a_text_that_is_none_is_a_fault_at_its_place) {
  const problem p = refusal("n > 0 and day >= '2026-02-29'");
  EXPECT_EQ(p.offset, 17U);
  EXPECT_EQ(p.message, "'2026-02-29' is no date: February 2026 has 28 days");
  EXPECT_THAT(refusal("day == '2026-01-01T10:00'").message, HasSubstr("a time of day stands behind the date"));
  EXPECT_THAT(refusal("at == 'noon'").message, HasSubstr("'noon' is no timestamp"));
  EXPECT_EQ(refusal("max(day, 'x')").offset, 9U);
  EXPECT_THAT(refusal("if(ok, 'x', day)").message, HasSubstr("'x' is no date"));
  EXPECT_EQ(refusal("if(ok, day, 'x')").offset, 12U);
  EXPECT_THAT(refusal("day - '2026-13-01'").message, HasSubstr("there is no month 13"));
  EXPECT_THAT(refusal("date_diff('day', 'x', at)").message, HasSubstr("'x' is no timestamp"));
  EXPECT_THAT(refusal("to_date('2026-02-30')").message, HasSubstr("February 2026 has 28 days"));
  EXPECT_THAT(refusal("to_date('1.1.26', '%d.%m.%Y %H')").message, HasSubstr("does not have the form"));
  EXPECT_THAT(refusal("(n, day) < (1, 'x')").message, HasSubstr("'x' is no date"));
}

TEST(times, what_has_no_meaning_is_refused_with_what_to_write) {
  const auto hint = [](const std::string& text) { return refusal(text).hint; };
  EXPECT_THAT(hint("at + 1"), HasSubstr("date_add('second', n, t)"));
  EXPECT_THAT(hint("at - 1"), HasSubstr("date_add('second', -n, t)"));
  EXPECT_THAT(hint("day == at"), HasSubstr("to_timestamp(x)"));
  EXPECT_THAT(hint("day == text"), HasSubstr("to_date(text)"));
  EXPECT_THAT(hint("day == 5"), HasSubstr("to_i64(x)"));
  EXPECT_THAT(hint("day * 2"), HasSubstr("to_i64(x)"));
  EXPECT_THAT(hint("-day"), HasSubstr("to_i64(x)"));
  EXPECT_THAT(hint("day & 1"), HasSubstr("to_i64(x)"));
  EXPECT_THAT(hint("i64(day)"), HasSubstr("write to_i64(x)"));
  EXPECT_THAT(hint("i32(day)"), HasSubstr("write i32(to_i64(x))"));
  EXPECT_THAT(hint("not day"), HasSubstr("compare it"));
  EXPECT_THAT(hint("if(day, 1, 2)"), HasSubstr("compare it"));
  EXPECT_THAT(hint("max(day, at)"), HasSubstr("to_timestamp(x)"));
  EXPECT_THAT(hint("coalesce(day, other)"), HasSubstr("if(x != '1970-01-01', x, y)"));
  EXPECT_THAT(hint("sqrt(day)"), HasSubstr("to_i64(x)"));
  EXPECT_THAT(hint("year(text)"), HasSubstr("to_date(text)"));
  EXPECT_THAT(hint("date_trunc('hour', day)"), HasSubstr("to_timestamp(x)"));
  EXPECT_THAT(hint("date_trunc('months', day)"), HasSubstr("did you mean 'month'"));
  EXPECT_THAT(hint("date_trunc(day, 'month')"), HasSubstr("the unit comes first"));
  EXPECT_THAT(hint("to_date(x)"), HasSubstr("to_date(i64(x))"));
  EXPECT_EQ(refusal("hour(day)").message, "hour: a date has no time of day");
  EXPECT_EQ(refusal("day + other").message, "'+' of date and date");
  EXPECT_EQ(refusal("5 - day").message, "'-' of u64 and date");
  EXPECT_EQ(refusal("day + x").message, "'+' of date and f64");
  EXPECT_EQ(refusal("strftime(at, '%Y-%Q')").offset, 17U);
  EXPECT_THAT(refusal("strftime(at, '%Y-%Q')").message, HasSubstr("unknown %Q"));
  EXPECT_THAT(refusal("to_date(text, '%d.%m.')").message, HasSubstr("it has no year"));
  EXPECT_THAT(refusal("to_date(text, text)").message, HasSubstr("not a constant"));
  EXPECT_THAT(refusal("date_add('day', x, day)").message, HasSubstr("this is f64"));
  EXPECT_THAT(refusal("dateadd('day', 1, day)").hint, HasSubstr("date_add("));
}

TEST(times, aggregates) {
  const auto of = [](const std::string& text) { return compile_aggregate(text, scope{.row = &columns}); };
  for (const char* kind : {"min", "max", "first", "last"}) {
    const compiled_aggregate a = of(fmt::format("{}(day)", kind));
    ASSERT_TRUE(a.value) << kind;
    EXPECT_TRUE(a.value->result.is_date());
  }
  EXPECT_THAT(of("sum(day)").problems.at(0).hint, HasSubstr("date_diff"));
  EXPECT_THAT(of("avg(at)").problems.at(0).hint, HasSubstr("avg(to_i64(x))"));
  EXPECT_TRUE(of("approx_count_distinct(day)").value);
}

TEST(times, types_of_results) {
  EXPECT_EQ(type_name("day + n"), "date");
  EXPECT_EQ(type_name("n + day"), "date");
  EXPECT_EQ(type_name("day - u"), "date");
  EXPECT_EQ(type_name("day - other"), "i64");
  EXPECT_EQ(type_name("later - at"), "i64");
  EXPECT_EQ(type_name("month(day)"), "i64");
  EXPECT_EQ(type_name("month(text)"), "u8");
  EXPECT_EQ(type_name("date_trunc('month', at)"), "timestamp");
  EXPECT_EQ(type_name("to_i64(day)"), "i64");
  EXPECT_EQ(type_name("to_date(at)"), "date");
  EXPECT_EQ(type_name("is_date(text)"), "bool");
}

TEST(times, arithmetic_stops_at_the_ends_of_the_years) {
  EXPECT_EQ(shown("day + n"), "2026-11-20");
  EXPECT_EQ(shown("day - n"), "2026-11-26");
  EXPECT_EQ(shown("day + u"), "2026-11-28");
  EXPECT_EQ(shown("day + (u << 61)"), "9999-12-31");
  EXPECT_EQ(shown("day - (u << 61)"), "0001-01-01");
  EXPECT_EQ(shown("day - (i64(u) << 60)"), "0001-01-01");
  EXPECT_EQ(shown("day + (-9223372036854775807 - 1)"), "0001-01-01");
  EXPECT_EQ(shown("day - (-9223372036854775807 - 1)"), "9999-12-31");
  EXPECT_EQ(shown("date_add('year', 9000, day)"), "9999-12-31");
  EXPECT_EQ(shown("date_add('year', -9000, at)"), "0001-01-01T22:15:03.500000Z");
  EXPECT_EQ(shown("date_add('week', 9223372036854775807, at)"), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(shown("to_timestamp(to_date(9223372036854775807))"), "9999-12-31T00:00:00Z");
  EXPECT_EQ(shown("to_date(-9223372036854775807)"), "0001-01-01");
}

TEST(times, months_that_are_too_short_give_their_last_day) {
  EXPECT_EQ(shown("date_add('month', 1, to_date('2026-01-31'))"), "2026-02-28");
  EXPECT_EQ(shown("date_add('month', 1, to_date('2024-01-31'))"), "2024-02-29");
  EXPECT_EQ(shown("date_add('year', 1, other)"), "2025-02-28");
  EXPECT_EQ(shown("date_add('quarter', -1, to_date('2026-05-31'))"), "2026-02-28");
  EXPECT_EQ(shown("date_add('month', -11, at)"), "2025-12-23T22:15:03.500000Z");
}

TEST(times, differences_count_beginnings_of_units) {
  EXPECT_EQ(number("date_diff('day', '2026-01-01T23:59', to_timestamp('2026-01-02T00:01'))"), 1);
  EXPECT_EQ(number("date_diff('hour', day, other)"), (day_of("2024-02-29") - day_of("2026-11-23")) * 24);
  EXPECT_EQ(number("date_diff('month', other, day)"), 33);
  EXPECT_EQ(number("date_diff('year', '2025-12-31', day)"), 1);
  EXPECT_EQ(number("date_diff('week', '2026-11-22', day)"), 1);
  EXPECT_EQ(number("date_diff('quarter', day, at)"), 0);
  EXPECT_EQ(number("date_diff('second', at, later)"), 611'097);
  EXPECT_EQ(number("date_diff('minute', later, at)"), -10'185);
}

TEST(times, parts_and_beginnings_are_those_of_the_standard_library) {
  using namespace std::chrono;
  std::mt19937_64 random(3);
  std::vector<testing::row> rows;
  for (int i = 0; i < 3000; ++i) {
    const int64_t us = calendar::first_us + 8000 * calendar::us_per_day +
                       static_cast<int64_t>(random() % static_cast<uint64_t>(calendar::last_us - calendar::first_us -
                                                                             16000 * calendar::us_per_day));
    rows.push_back({calendar::day_of_us(us), int64_t{0}, us, int64_t{0}, static_cast<int64_t>(random() % 400) - 200,
                    uint64_t{0}, 0.0, uint64_t{0}, std::string()});
  }
  const record::batch in = testing::pack(columns, rows);
  const auto expect = [&](const std::string& text, auto of) {
    const std::vector<cell> got = testing::evaluate_rows(text, columns, in);
    for (size_t i = 0; i < rows.size(); ++i) {
      const int64_t us = std::get<int64_t>(rows[i][2]);
      ASSERT_EQ(std::get<int64_t>(got[i]), of(sys_time<microseconds>{microseconds{us}}, std::get<int64_t>(rows[i][4])))
          << text << " of " << us;
    }
  };
  using us_point = sys_time<microseconds>;
  const auto civil = [](us_point t) { return year_month_day{floor<days>(t)}; };
  const auto whole = [](auto t) { return duration_cast<microseconds>(us_point{t}.time_since_epoch()).count(); };
  const auto days_since = [](auto t) { return sys_days{t}.time_since_epoch().count(); };
  for (const char* t : {"day", "at"}) {
    expect(fmt::format("year({})", t), [&](us_point p, int64_t) { return static_cast<int>(civil(p).year()); });
    expect(fmt::format("month({})", t), [&](us_point p, int64_t) { return static_cast<unsigned>(civil(p).month()); });
    expect(fmt::format("day({})", t), [&](us_point p, int64_t) { return static_cast<unsigned>(civil(p).day()); });
    expect(fmt::format("quarter({})", t),
           [&](us_point p, int64_t) { return (static_cast<unsigned>(civil(p).month()) + 2) / 3; });
    expect(fmt::format("weekday({})", t), [&](us_point p, int64_t) { return weekday{floor<days>(p)}.iso_encoding(); });
    expect(fmt::format("day_of_year({})", t),
           [&](us_point p, int64_t) { return (floor<days>(p) - sys_days{civil(p).year() / 1 / 1}).count() + 1; });
    expect(fmt::format("week({})", t), [&](us_point p, int64_t) {
      const sys_days thursday = floor<days>(p) - days{static_cast<int>(weekday{floor<days>(p)}.iso_encoding()) - 4};
      const year_month_day of{thursday};
      return (thursday - sys_days{of.year() / 1 / 1}).count() / 7 + 1;
    });
  }
  expect("hour(at)", [&](us_point p, int64_t) { return hh_mm_ss{p - floor<days>(p)}.hours().count(); });
  expect("minute(at)", [&](us_point p, int64_t) { return hh_mm_ss{p - floor<days>(p)}.minutes().count(); });
  expect("second(at)", [&](us_point p, int64_t) { return hh_mm_ss{p - floor<days>(p)}.seconds().count(); });
  expect("microsecond(at)", [&](us_point p, int64_t) { return (p - floor<seconds>(p)).count(); });
  expect("date_trunc('month', day)",
         [&](us_point p, int64_t) { return days_since(civil(p).year() / civil(p).month() / 1); });
  expect("date_trunc('quarter', day)", [&](us_point p, int64_t) {
    return days_since(civil(p).year() / month{(static_cast<unsigned>(civil(p).month()) - 1) / 3 * 3 + 1} / 1);
  });
  expect("date_trunc('year', day)", [&](us_point p, int64_t) { return days_since(civil(p).year() / 1 / 1); });
  expect("date_trunc('week', day)", [&](us_point p, int64_t) {
    return days_since(floor<days>(p) - days{static_cast<int>(weekday{floor<days>(p)}.iso_encoding()) - 1});
  });
  expect("date_trunc('month', at)",
         [&](us_point p, int64_t) { return whole(sys_days{civil(p).year() / civil(p).month() / 1}); });
  expect("date_trunc('day', at)", [&](us_point p, int64_t) { return whole(floor<days>(p)); });
  expect("date_trunc('hour', at)", [&](us_point p, int64_t) { return whole(floor<hours>(p)); });
  expect("date_trunc('minute', at)", [&](us_point p, int64_t) { return whole(floor<minutes>(p)); });
  expect("date_trunc('second', at)", [&](us_point p, int64_t) { return whole(floor<seconds>(p)); });
  expect("date_trunc('millisecond', at)", [&](us_point p, int64_t) { return whole(floor<milliseconds>(p)); });
  expect("date_trunc('microsecond', at)", [&](us_point p, int64_t) { return whole(p); });
  expect("date_add('hour', n, at)", [&](us_point p, int64_t n) { return whole(p + hours{n}); });
  expect("date_add('day', n, day)", [&](us_point p, int64_t n) { return days_since(floor<days>(p) + days{n}); });
  expect("date_add('month', n, day)", [&](us_point p, int64_t n) {
    const year_month to = year_month{civil(p).year(), civil(p).month()} + months{n};
    const year_month_day end{to / last};
    return days_since(to / std::min(civil(p).day(), end.day()));
  });
  expect("to_i64(at)", [&](us_point p, int64_t) { return whole(p); });
  expect("to_i64(to_date(at))", [&](us_point p, int64_t) { return days_since(floor<days>(p)); });
  expect("to_i64(to_timestamp(day))", [&](us_point p, int64_t) { return whole(floor<days>(p)); });
  expect("to_i64(to_timestamp(string(at)))", [&](us_point p, int64_t) { return whole(p); });
  expect("to_i64(to_timestamp(strftime(at, '%d/%m/%Y %T.%f'), '%d/%m/%Y %T.%f'))",
         [&](us_point p, int64_t) { return whole(p); });
}

TEST(times, texts) {
  EXPECT_EQ(shown("to_timestamp(text, '%d.%m.%Y %H:%M')"), "2026-11-23T22:15:00Z");
  EXPECT_EQ(shown("to_date(text, '%d.%m.%Y %H:%M')"), "2026-11-23");
  EXPECT_EQ(shown("to_date(text)"), "1970-01-01");
  EXPECT_FALSE(holds("is_date(text)"));
  EXPECT_FALSE(holds("is_timestamp(text, '%F')"));
  EXPECT_TRUE(holds("is_timestamp(text, '%d.%m.%Y %R')"));
  EXPECT_TRUE(holds("is_date(string(day))"));
  EXPECT_EQ(shown("strftime(day, '%A, %e %B %Y %H:%M')"), "Monday, 23 November 2026 00:00");
  EXPECT_EQ(shown("concat(day, ' ', at)"), "2026-11-23 2026-11-23T22:15:03.500000Z");
  EXPECT_EQ(shown("to_timestamp(1000000 * u)"), "1970-01-01T00:00:05Z");
  EXPECT_TRUE(holds("hash64(1, day) == hash64(1, to_i64(day))"));
}

}  // namespace
}  // namespace flowrun::expr
