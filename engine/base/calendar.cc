#include "engine/base/calendar.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace flowrun::calendar {

namespace {

constexpr size_t date_bytes = 10;  // 2026-11-23
// Eight bytes of a text in a fixed form: zeros where digits stand. `too_much` is what takes any other byte than a
// digit, or any other than the separator, beyond 7 bits.
struct fixed_form {
  uint64_t bytes, too_much;
};
constexpr fixed_form front_of_date{0x2D30'302D'3030'3030, 0x7F76'767F'7676'7676};  // 0000-00-
constexpr fixed_form clock_form{0x3030'3A30'303A'3030, 0x7676'7F76'767F'7676};     // 00:00:00

template <class Word>
Word load(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// The digits, and zeros for the separators. False where the text is none of that form.
bool digits_of(const char* at, const fixed_form& form, uint64_t& digits) {
  digits = load<uint64_t>(at) ^ form.bytes;
  return (((digits + form.too_much) | digits) & 0x8080'8080'8080'8080) == 0;
}
// Byte i and byte i + 1 as a number of two digits, for each i.
uint64_t pairs_of(uint64_t digits) { return digits * 10 + (digits >> 8); }
uint32_t byte_of(uint64_t word, uint32_t i) { return static_cast<uint32_t>(word >> (8 * i)) & 0xFF; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The first ten bytes.
bool parse_front(const char* at, int64_t& days) {
  uint64_t digits = 0;
  if (!digits_of(at, front_of_date, digits)) return false;
  const uint64_t pairs = pairs_of(digits);
  const uint32_t tens = static_cast<unsigned char>(at[8]) - uint32_t{'0'};
  const uint32_t ones = static_cast<unsigned char>(at[9]) - uint32_t{'0'};
  if (tens > 9 || ones > 9) return false;
  const uint32_t year = 100 * byte_of(pairs, 0) + byte_of(pairs, 2);
  const uint32_t month = byte_of(pairs, 5);
  const uint32_t day = 10 * tens + ones;
  if (year - 1 >= 9999 || month - 1 >= 12 || day - 1 >= 31) return false;
  if (day > 28 && day > days_in_month(year, month)) return false;
  days = days_of(year, month, day);
  return true;
}

// Takes "Z", "+hh", "+hhmm" or "+hh:mm" off; nothing is UTC.
bool parse_zone(const char* at, const char* end, int64_t& us_east) {
  us_east = 0;
  if (at == end) return true;
  if (*at == 'Z' || *at == 'z') return at + 1 == end;
  if (*at != '+' && *at != '-') return false;
  const bool west = *at++ == '-';
  std::array<int64_t, 4> digits{};
  size_t count = 0;
  for (; at != end && count < digits.size(); ++at) {
    if (*at == ':' && count == 2 && end - at == 3) continue;
    if (!is_digit(*at)) return false;
    digits[count++] = *at - '0';
  }
  if (at != end || (count != 2 && count != 4)) return false;
  const int64_t hours = digits[0] * 10 + digits[1], minutes = digits[2] * 10 + digits[3];
  if (hours > 23 || minutes > 59) return false;
  us_east = hours * us_per_hour + minutes * us_per_minute;
  if (west) us_east = -us_east;
  return true;
}

// The digits behind a point, as microseconds; `at` is moved behind them.
bool parse_fraction(const char*& at, const char* end, int64_t& us) {
  constexpr size_t most = 9, kept = 6;
  size_t count = 0;
  us = 0;
  for (; at != end && is_digit(*at); ++at, ++count)
    if (count < kept) us = us * 10 + (*at - '0');
  if (count == 0 || count > most) return false;
  for (; count < kept; ++count) us *= 10;
  return true;
}

// Parts of a text of which the front is a date.
struct clock_text {
  uint32_t hour = 0, minute = 0, second = 0;
  int64_t us = 0;
  int64_t us_east = 0;
};

// What stands behind the date, in form; the numbers may be too large.
bool parse_clock(const char* at, const char* end, clock_text& out) {
  if (*at != 'T' && *at != ' ' && *at != 't') return false;
  ++at;
  uint64_t digits = 0;
  if (end - at >= 8 && digits_of(at, clock_form, digits)) {
    const uint64_t pairs = pairs_of(digits);
    out.hour = byte_of(pairs, 0);
    out.minute = byte_of(pairs, 3);
    out.second = byte_of(pairs, 6);
    at += 8;
    if (at != end && *at == '.') {
      ++at;
      if (!parse_fraction(at, end, out.us)) return false;
    }
  } else {
    if (end - at < 5 || !is_digit(at[0]) || !is_digit(at[1]) || at[2] != ':' || !is_digit(at[3]) || !is_digit(at[4]))
      return false;
    out.hour = static_cast<uint32_t>(at[0] - '0') * 10 + static_cast<uint32_t>(at[1] - '0');
    out.minute = static_cast<uint32_t>(at[3] - '0') * 10 + static_cast<uint32_t>(at[4] - '0');
    at += 5;
  }
  return parse_zone(at, end, out.us_east);
}

constexpr std::array<std::string_view, 12> month_names = {"January",   "February", "March",    "April",
                                                          "May",       "June",     "July",     "August",
                                                          "September", "October",  "November", "December"};
constexpr std::array<std::string_view, 7> weekday_names = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                                           "Friday", "Saturday", "Sunday"};

bool has_form_of_date(std::string_view text) {
  if (text.size() < date_bytes) return false;
  for (size_t i = 0; i < date_bytes; ++i)
    if (i == 4 || i == 7 ? text[i] != '-' : !is_digit(text[i])) return false;
  return true;
}

// Of a text that has the form.
std::string why_no_front(std::string_view text) {
  const auto number = [&](size_t from, size_t count) {
    uint32_t out = 0;
    for (const char c : text.substr(from, count)) out = out * 10 + static_cast<uint32_t>(c - '0');
    return out;
  };
  const uint32_t year = number(0, 4), month = number(5, 2), day = number(8, 2);
  if (year == 0) return "years are 0001 to 9999";
  if (month < 1 || month > 12) return fmt::format("there is no month {:02}", month);
  if (day < 1) return "days of a month are counted from 01";
  return fmt::format("{} {:04} has {} days", month_name(month), year, days_in_month(year, month));
}

char* put_two(uint32_t number, char* to) {
  to[0] = static_cast<char>('0' + number / 10);
  to[1] = static_cast<char>('0' + number % 10);
  return to + 2;
}

}  // namespace

std::string_view month_name(uint32_t month) { return month_names[month - 1]; }
std::string_view weekday_name(int64_t weekday) { return weekday_names[static_cast<size_t>(weekday - 1)]; }

bool parse_date(std::string_view text, int64_t& days) {
  return text.size() == date_bytes && parse_front(text.data(), days);
}

bool parse_timestamp(std::string_view text, int64_t& us) {
  int64_t days = 0;
  if (text.size() < date_bytes || !parse_front(text.data(), days)) return false;
  us = days * us_per_day;
  if (text.size() == date_bytes) return true;
  clock_text clock;
  if (!parse_clock(text.data() + date_bytes, text.data() + text.size(), clock)) return false;
  if (clock.hour > 23 || clock.minute > 59 || clock.second > 59) return false;
  us +=
      clock.hour * us_per_hour + clock.minute * us_per_minute + clock.second * us_per_second + clock.us - clock.us_east;
  return us >= first_us && us <= last_us;
}

std::string why_no_date(std::string_view text) {
  constexpr std::string_view form = "a date is written as 2026-11-23";
  if (!has_form_of_date(text)) return std::string(form);
  int64_t days = 0, us = 0;
  if (!parse_date(text.substr(0, date_bytes), days)) return why_no_front(text);
  return parse_timestamp(text, us) ? "a time of day stands behind the date" : std::string(form);
}

std::string why_no_timestamp(std::string_view text) {
  constexpr std::string_view form =
      "a timestamp is written as 2026-11-23T22:15:03.123456Z; T may be a blank, and the seconds, the fraction and the "
      "zone may be left out";
  if (!has_form_of_date(text)) return std::string(form);
  int64_t days = 0;
  if (!parse_date(text.substr(0, date_bytes), days)) return why_no_front(text);
  clock_text clock;
  if (text.size() == date_bytes || !parse_clock(text.data() + date_bytes, text.data() + text.size(), clock))
    return std::string(form);
  if (clock.hour > 23) return "hours are 00 to 23";
  if (clock.minute > 59) return "minutes are 00 to 59";
  if (clock.second == 60) return "seconds are 00 to 59: there are no leap seconds";
  if (clock.second > 59) return "seconds are 00 to 59";
  return "in UTC it is outside of the years 0001 to 9999";
}

char* write_date(int64_t days, char* to) {
  const civil_date date = civil_of(days);
  auto year = static_cast<uint32_t>(date.year < 0 ? -date.year : date.year);
  if (date.year < 0 || date.year > 9999) {
    *to++ = date.year < 0 ? '-' : '+';
    to = fmt::format_to(to, "{:04}", year);
  } else {
    to = put_two(year / 100, to);
    to = put_two(year % 100, to);
  }
  *to++ = '-';
  to = put_two(date.month, to);
  *to++ = '-';
  return put_two(date.day, to);
}

char* write_timestamp(int64_t us, char* to) {
  to = write_date(day_of_us(us), to);
  const int64_t of_day = us_of_day(us);
  const auto seconds = static_cast<uint32_t>(of_day / us_per_second);
  auto fraction = static_cast<uint32_t>(of_day % us_per_second);
  *to++ = 'T';
  to = put_two(seconds / 3600, to);
  *to++ = ':';
  to = put_two(seconds / 60 % 60, to);
  *to++ = ':';
  to = put_two(seconds % 60, to);
  if (fraction != 0) {
    *to++ = '.';
    to = put_two(fraction / 10'000, to);
    to = put_two(fraction / 100 % 100, to);
    to = put_two(fraction % 100, to);
  }
  *to++ = 'Z';
  return to;
}

}  // namespace flowrun::calendar
