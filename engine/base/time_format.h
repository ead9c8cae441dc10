// Patterns of dates and times as strftime and strptime have them, "%d.%m.%Y %H:%M", made ready once and used for many
// texts. Names are the English ones; times are UTC.
//
//   %Y 2026   %y 26 (69 is 1969, 68 is 2068)   %m 11   %b Nov   %B November   %d 23   %e 23, or " 3"   %j 327
//   %a Mon    %A Monday   %u 1 (Monday) to 7   %V week by ISO 8601
//   %H 22     %I 10   %p PM   %M 15   %S 03   %f 123456
//   %z +0000, or +02:00 or Z when it is read, which is taken off   %Z UTC   %s seconds since 1970-01-01
//   %F %Y-%m-%d   %T %H:%M:%S   %R %H:%M   %D %m/%d/%y   %% %
//
// Reading: numbers may have fewer digits than %d and the like print, %f has one to nine digits, of which six count.
// Names of months and of days, AM and PM may have any case; names of days are read and not compared. What the pattern
// doesn't have is the first: of January, of the month, midnight.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace flowrun::calendar {

class time_format {
 public:
  struct fault {
    size_t offset;  // in the pattern
    std::string message, expected;
  };
  static std::variant<time_format, fault> of(std::string_view pattern);

  // Why a pattern that can be printed can't be read with: "it has no year". Empty where it can.
  std::string why_no_reading() const;
  // Whether it has more than a date: a time of day, a zone or seconds since 1970.
  bool has_clock() const { return has_clock_; }

  // The whole text as microseconds since 1970; false where it is none, or no date that there is.
  bool parse(std::string_view text, int64_t& us) const;

  // Most bytes that print() writes.
  size_t max_chars() const { return max_chars_; }
  // Returns the end of what it writes.
  char* print(int64_t us, char* to) const;

 private:
  struct item {
    char kind = 0;  // the letter behind %, or 0 for a text
    std::string text;
  };
  struct fields;
  static bool read_item(const item& what, const char*& at, const char* end, fields& out);

  std::vector<item> items_;
  size_t max_chars_ = 0;
  bool has_clock_ = false;
};

}  // namespace flowrun::calendar
