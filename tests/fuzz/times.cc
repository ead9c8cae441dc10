// Dates, timestamps and patterns. An input is a pattern, a zero byte and a text; its last bytes are a number.
//
// What is read is one of the years 1 to 9999, and is read again as the same from what is written; what is refused has a
// reason. A pattern prints no more than it says, of any number; one with all parts reads back what it prints.
#include <memory>
#include <string>

#include "engine/base/calendar.h"
#include "engine/base/time_format.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/target.h"

namespace flowrun::fuzz {

namespace {

using calendar::time_format;

// As many bytes as there are, so that a step beyond them is seen.
struct exact_bytes {
  explicit exact_bytes(std::string_view from) : bytes(std::make_unique<char[]>(from.size())), size(from.size()) {
    from.copy(bytes.get(), size);
  }
  std::string_view view() const { return {bytes.get(), size}; }
  std::unique_ptr<char[]> bytes;
  size_t size;
};

void look_at_date(std::string_view text) {
  int64_t days = 0;
  if (!calendar::parse_date(text, days)) {
    must_hold(!calendar::why_no_date(text).empty(), "no reason against '{}'", text);
    return;
  }
  must_hold(days >= calendar::first_day && days <= calendar::last_day, "'{}' is day {}", text, days);
  char out[calendar::max_date_chars];
  const std::string_view written(out, static_cast<size_t>(calendar::write_date(days, out) - out));
  must_hold(written == text, "'{}' is written as '{}'", text, written);
  int64_t us = 0;
  must_hold(calendar::parse_timestamp(text, us) && us == days * calendar::us_per_day, "'{}' is no midnight", text);
}

void look_at_timestamp(std::string_view text) {
  int64_t us = 0, again = 0;
  if (!calendar::parse_timestamp(text, us)) {
    must_hold(!calendar::why_no_timestamp(text).empty(), "no reason against '{}'", text);
    return;
  }
  must_hold(us >= calendar::first_us && us <= calendar::last_us, "'{}' is {}", text, us);
  char out[calendar::max_timestamp_chars];
  const std::string_view written(out, static_cast<size_t>(calendar::write_timestamp(us, out) - out));
  must_hold(calendar::parse_timestamp(written, again) && again == us, "'{}' is written as '{}'", text, written);
}

// Any number can be written, within bounds.
void look_at_number(int64_t number) {
  char date[calendar::max_date_chars], timestamp[calendar::max_timestamp_chars];
  must_hold(calendar::write_date(static_cast<int32_t>(number), date) <= date + sizeof date, "{} is long", number);
  must_hold(calendar::write_timestamp(number, timestamp) <= timestamp + sizeof timestamp, "{} is long", number);
  const int64_t day = static_cast<int32_t>(number);
  const calendar::civil_date civil = calendar::civil_of(day);
  must_hold(calendar::days_of(civil.year, civil.month, civil.day) == day, "day {} is another one", day);
}

void look_at_pattern(std::string_view pattern, std::string_view text, int64_t number) {
  const auto made = time_format::of(pattern);
  if (const auto* no = std::get_if<time_format::fault>(&made)) {
    must_hold(no->offset <= pattern.size() && !no->message.empty(), "a fault at {}", no->offset);
    return;
  }
  const auto& format = std::get<time_format>(made);
  const auto print = [&](int64_t us) {
    const auto out = std::make_unique<char[]>(format.max_chars());
    return std::string(out.get(), format.print(us, out.get()));
  };
  print(number);
  if (!format.why_no_reading().empty()) return;
  int64_t us = 0;
  if (!format.parse(text, us)) return;
  must_hold(us >= calendar::first_us && us <= calendar::last_us, "'{}' is {} by '{}'", text, us, pattern);
}

// What has all parts of a time is read as that time again.
void look_at_whole_patterns(int64_t number) {
  const auto years = static_cast<uint64_t>(calendar::last_us - calendar::first_us);
  const int64_t us = calendar::first_us + static_cast<int64_t>(static_cast<uint64_t>(number) % years);
  for (const char* pattern : {"%d.%m.%Y %H:%M:%S.%f", "%A, %e %B %Y %I:%M:%S.%f %p", "%Y %j %T.%f %z", "%s.%f"}) {
    const time_format format = std::get<time_format>(time_format::of(pattern));
    char out[100];
    const std::string_view printed(out, static_cast<size_t>(format.print(us, out) - out));
    int64_t again = 0;
    must_hold(format.parse(printed, again) && again == us, "{} is printed as '{}'", us, printed);
  }
}

}  // namespace

void try_input(std::string_view bytes) {
  input in(bytes);
  const auto number = static_cast<int64_t>(in.number());
  const exact_bytes pattern(in.take_until('\0')), text(in.rest());
  for (const exact_bytes* one : {&pattern, &text}) {
    look_at_date(one->view());
    look_at_timestamp(one->view());
  }
  look_at_number(number);
  look_at_whole_patterns(number);
  look_at_pattern(pattern.view(), text.view(), number);
}

}  // namespace flowrun::fuzz
