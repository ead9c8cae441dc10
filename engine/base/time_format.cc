#include "engine/base/time_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/base/calendar.h"

namespace flowrun::calendar {

namespace {

constexpr std::string_view letters = "YymbBdejaAuVGHIpMSfzZs";
constexpr std::string_view printed_only = "VG";
constexpr std::string_view of_clocks = "HIpMSfzZs";
constexpr std::string_view all_letters =
    "one of %Y %y %m %b %B %d %e %j %a %A %u %V %G %H %I %p %M %S %f %z %Z %s %F %T %R %D %%";

// What stands for several.
std::string_view spelled_out(char letter) {
  switch (letter) {
    case 'F': return "%Y-%m-%d";
    case 'T': return "%H:%M:%S";
    case 'R': return "%H:%M";
    case 'D': return "%m/%d/%y";
    default: return {};
  }
}

size_t most_chars(char letter) {
  switch (letter) {
    case 'Y':
    case 'G': return 8;  // with a sign, where it is no year of texts
    case 'B': return 9;
    case 'A': return 9;
    case 'f': return 6;
    case 'z': return 5;
    case 's': return 20;
    default: return 3;
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool starts_with_word(const char* at, const char* end, std::string_view word) {
  if (static_cast<size_t>(end - at) < word.size()) return false;
  for (size_t i = 0; i < word.size(); ++i)
    if (lower(at[i]) != lower(word[i])) return false;
  return true;
}

// One to `most` digits.
bool read_number(const char*& at, const char* end, size_t most, int64_t& out) {
  size_t count = 0;
  out = 0;
  for (; at != end && count < most && is_digit(*at); ++at, ++count) out = out * 10 + (*at - '0');
  return count > 0;
}

bool read_zone(const char*& at, const char* end, int64_t& us_east) {
  if (at != end && (*at == 'Z' || *at == 'z')) {
    ++at;
    us_east = 0;
    return true;
  }
  if (at == end || (*at != '+' && *at != '-')) return false;
  const bool west = *at++ == '-';
  const auto two = [&](int64_t& out) {
    if (end - at < 2 || !is_digit(at[0]) || !is_digit(at[1])) return false;
    out = (at[0] - '0') * 10 + (at[1] - '0');
    at += 2;
    return true;
  };
  int64_t hours = 0, minutes = 0;
  if (!two(hours)) return false;
  if (at != end && *at == ':') {
    ++at;
    if (!two(minutes)) return false;
  } else if (at != end && is_digit(*at) && !two(minutes)) {
    return false;
  }
  if (hours > 23 || minutes > 59) return false;
  us_east = hours * us_per_hour + minutes * us_per_minute;
  if (west) us_east = -us_east;
  return true;
}

char* put_number(int64_t number, int width, char fill, char* to) {
  char digits[20];
  int count = 0;
  for (; number > 0 || count == 0; number /= 10) digits[count++] = static_cast<char>('0' + number % 10);
  for (int i = count; i < width; ++i) *to++ = fill;
  while (count > 0) *to++ = digits[--count];
  return to;
}

char* put_year(int64_t year, char* to) {
  if (year < 0 || year > 9999) *to++ = year < 0 ? '-' : '+';
  return put_number(year < 0 ? -year : year, 4, '0', to);
}

char* put_text(std::string_view text, char* to) {
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

}  // namespace

// What a text has said so far.
struct time_format::fields {
  int64_t year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0, us = 0, us_east = 0;
  int64_t day_of_year = 0;  // 0: not said
  int64_t since_epoch = 0;
  bool has_since_epoch = false, is_afternoon = false, has_half = false;
};

std::variant<time_format, time_format::fault> time_format::of(std::string_view pattern) {
  time_format out;
  const auto add_text = [&](char c) {
    if (out.items_.empty() || out.items_.back().kind != 0) out.items_.push_back({});
    out.items_.back().text += c;
    ++out.max_chars_;
  };
  const auto add_letter = [&](char letter) {
    out.items_.push_back({letter, {}});
    out.max_chars_ += most_chars(letter);
    out.has_clock_ = out.has_clock_ || of_clocks.find(letter) != std::string_view::npos;
  };
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      add_text(pattern[i]);
      continue;
    }
    if (i + 1 == pattern.size()) return fault{i, "a letter is missing behind %", std::string(all_letters)};
    const char letter = pattern[++i];
    if (letter == '%') {
      add_text('%');
    } else if (const std::string_view parts = spelled_out(letter); !parts.empty()) {
      for (size_t k = 0; k < parts.size(); ++k)
        if (parts[k] == '%')
          add_letter(parts[++k]);
        else
          add_text(parts[k]);
    } else if (letters.find(letter) != std::string_view::npos) {
      add_letter(letter);
    } else {
      const bool shown = letter > ' ' && letter < 0x7F;
      return fault{i - 1, shown ? fmt::format("unknown %{}", letter) : "no letter stands behind %",
                   std::string(all_letters)};
    }
  }
  if (out.items_.empty()) return fault{0, "the pattern is empty", "such as %d.%m.%Y"};
  return out;
}

std::string time_format::why_no_reading() const {
  const auto has = [&](std::string_view any_of) {
    return std::any_of(items_.begin(), items_.end(),
                       [&](const item& i) { return i.kind != 0 && any_of.find(i.kind) != std::string_view::npos; });
  };
  if (has(printed_only)) return "%V and %G are only printed";
  if (has("s")) return {};
  if (!has("Yy")) return "it has no year: %Y or %y";
  if (has("I") != has("p")) return "%I and %p need each other";
  if (has("de") && !has("mbB")) return "it has a day and no month: %m, %b or %B";
  return {};
}

bool time_format::read_item(const item& what, const char*& at, const char* end, fields& out) {
  int64_t number = 0;
  switch (what.kind) {
    case 0:
      if (static_cast<size_t>(end - at) < what.text.size() || std::memcmp(at, what.text.data(), what.text.size()) != 0)
        return false;
      at += what.text.size();
      return true;
    case 'Y': return read_number(at, end, 4, out.year);
    case 'y':
      if (!read_number(at, end, 2, out.year)) return false;
      out.year += out.year < 69 ? 2000 : 1900;
      return true;
    case 'm': return read_number(at, end, 2, out.month);
    case 'b':
    case 'B':
      for (uint32_t month = 1; month <= 12; ++month) {
        const std::string_view name = month_name(month);
        for (const std::string_view form : {name, name.substr(0, 3)})
          if (starts_with_word(at, end, form)) {
            at += form.size();
            out.month = month;
            return true;
          }
      }
      return false;
    case 'e':
      if (at != end && *at == ' ') ++at;
      return read_number(at, end, 2, out.day);
    case 'd': return read_number(at, end, 2, out.day);
    case 'j': return read_number(at, end, 3, out.day_of_year) && out.day_of_year > 0;
    case 'a':
    case 'A':
      for (int64_t weekday = 1; weekday <= 7; ++weekday) {
        const std::string_view name = weekday_name(weekday);
        for (const std::string_view form : {name, name.substr(0, 3)})
          if (starts_with_word(at, end, form)) {
            at += form.size();
            return true;
          }
      }
      return false;
    case 'u': return read_number(at, end, 1, number) && number >= 1 && number <= 7;
    case 'H': return read_number(at, end, 2, out.hour) && out.hour < 24;
    case 'I': return read_number(at, end, 2, out.hour) && out.hour >= 1 && out.hour <= 12;
    case 'p':
      if (!starts_with_word(at, end, "am") && !starts_with_word(at, end, "pm")) return false;
      out.has_half = true;
      out.is_afternoon = lower(*at) == 'p';
      at += 2;
      return true;
    case 'M': return read_number(at, end, 2, out.minute) && out.minute < 60;
    case 'S': return read_number(at, end, 2, out.second) && out.second < 60;
    case 'f': {
      const char* const from = at;
      if (!read_number(at, end, 9, out.us)) return false;
      auto count = at - from;
      for (; count < 6; ++count) out.us *= 10;
      for (; count > 6; --count) out.us /= 10;
      return true;
    }
    case 'z': return read_zone(at, end, out.us_east);
    case 'Z':
      for (const std::string_view name : {"UTC", "GMT", "Z"})
        if (starts_with_word(at, end, name)) {
          at += name.size();
          return true;
        }
      return false;
    default: {  // 's'
      const bool below = at != end && *at == '-';
      if (below) ++at;
      if (!read_number(at, end, 12, number)) return false;
      out.since_epoch = below ? -number : number;
      out.has_since_epoch = true;
      return true;
    }
  }
}

bool time_format::parse(std::string_view text, int64_t& us) const {
  fields out;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (const item& what : items_)
    if (!read_item(what, at, end, out)) return false;
  if (at != end) return false;
  if (out.has_since_epoch) {
    us = out.since_epoch * us_per_second + out.us;
    return us >= first_us && us <= last_us;
  }
  if (out.year < 1 || out.year > 9999 || out.month < 1 || out.month > 12 || out.day < 1) return false;
  const auto month = static_cast<uint32_t>(out.month);
  if (out.day > days_in_month(out.year, month)) return false;
  int64_t days = days_of(out.year, month, static_cast<uint32_t>(out.day));
  if (out.day_of_year > 0) {
    if (out.day_of_year > (is_leap_year(out.year) ? 366 : 365)) return false;
    days = days_of(out.year, 1, 1) + out.day_of_year - 1;
  }
  if (out.has_half) out.hour = out.hour % 12 + (out.is_afternoon ? 12 : 0);
  us = days * us_per_day + out.hour * us_per_hour + out.minute * us_per_minute + out.second * us_per_second + out.us -
       out.us_east;
  return us >= first_us && us <= last_us;
}

char* time_format::print(int64_t us, char* to) const {
  const int64_t days = day_of_us(us);
  const int64_t of_day = us_of_day(us);
  const civil_date date = civil_of(days);
  const int64_t hour = of_day / us_per_hour;
  for (const item& what : items_) {
    switch (what.kind) {
      case 0: to = put_text(what.text, to); break;
      case 'Y': to = put_year(date.year, to); break;
      case 'G': to = put_year(civil_of(days - iso_weekday(days) + 4).year, to); break;  // that of the week's Thursday
      case 'y': to = put_number((date.year % 100 + 100) % 100, 2, '0', to); break;
      case 'm': to = put_number(date.month, 2, '0', to); break;
      case 'b': to = put_text(month_name(date.month).substr(0, 3), to); break;
      case 'B': to = put_text(month_name(date.month), to); break;
      case 'd': to = put_number(date.day, 2, '0', to); break;
      case 'e': to = put_number(date.day, 2, ' ', to); break;
      case 'j': to = put_number(day_of_year(days), 3, '0', to); break;
      case 'a': to = put_text(weekday_name(iso_weekday(days)).substr(0, 3), to); break;
      case 'A': to = put_text(weekday_name(iso_weekday(days)), to); break;
      case 'u': to = put_number(iso_weekday(days), 1, '0', to); break;
      case 'V': to = put_number(iso_week(days), 2, '0', to); break;
      case 'H': to = put_number(hour, 2, '0', to); break;
      case 'I': to = put_number((hour + 11) % 12 + 1, 2, '0', to); break;
      case 'p': to = put_text(hour < 12 ? "AM" : "PM", to); break;
      case 'M': to = put_number(of_day / us_per_minute % 60, 2, '0', to); break;
      case 'S': to = put_number(of_day / us_per_second % 60, 2, '0', to); break;
      case 'f': to = put_number(of_day % us_per_second, 6, '0', to); break;
      case 'z': to = put_text("+0000", to); break;
      case 'Z': to = put_text("UTC", to); break;
      default: {  // 's'
        const int64_t seconds = days * (us_per_day / us_per_second) + of_day / us_per_second;
        if (seconds < 0) *to++ = '-';
        to = put_number(seconds < 0 ? -seconds : seconds, 1, '0', to);
      }
    }
  }
  return to;
}

}  // namespace flowrun::calendar
