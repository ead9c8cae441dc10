#include "operators/parts/text/time_forms.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/calendar.h"
#include "engine/base/error.h"
#include "engine/base/time_format.h"

namespace flowrun::operators {

namespace {

enum class day_month { no_question, day_first, month_first };

// How exactly a form must be kept, since time_format reads numbers with fewer digits than are printed: 1.2.3 would be
// a day of the year 3, and any number of five digits a day.
enum class strictness { year_of_four, all_digits, two_digits_each };

struct form {
  std::string pattern;
  calendar::time_format reader;
  day_month order;
  strictness strict;
};

struct date_part {
  const char* pattern;
  day_month order = day_month::no_question;
  strictness strict = strictness::year_of_four;
};

constexpr date_part date_parts[] = {
    {"%Y-%m-%d"},
    {"%d.%m.%Y"},  // (nobody writes the month first with points)
    {"%m/%d/%Y", day_month::month_first},
    {"%d/%m/%Y", day_month::day_first},
    {"%d-%m-%Y", day_month::day_first},
    {"%m-%d-%Y", day_month::month_first},
    {"%Y/%m/%d"},
    {"%Y.%m.%d"},
    {"%Y%m%d", day_month::no_question, strictness::all_digits},
    {"%d.%m.%y", day_month::no_question, strictness::two_digits_each},
    {"%m/%d/%y", day_month::month_first},
    {"%d/%m/%y", day_month::day_first},
    {"%d %b %Y"},
    {"%d-%b-%Y"},
    {"%d/%b/%Y"},
    {"%d. %b %Y"},
    {"%b %d, %Y"},
    {"%b %d %Y"},
    {"%d-%b-%y", day_month::no_question, strictness::two_digits_each},
    {"%a, %d %b %Y"},
    {"%a, %b %d, %Y"},
};
constexpr const char* joints[] = {" ", "T", ", ", ":", ""};
constexpr const char* clocks[] = {"%H:%M:%S",    "%H:%M",    "%H:%M:%S.%f", "%H:%M:%S,%f",
                                  "%I:%M:%S %p", "%I:%M %p", "%I:%M%p",     "%H%M%S"};
constexpr const char* zones[] = {"", "%z", " %z", " %Z"};
constexpr const char* whole_forms[] = {"%a %b %d %H:%M:%S %Y", "%a %b %e %H:%M:%S %Y", "%a %b %d %H:%M:%S %Z %Y"};

std::vector<form> make_forms() {
  std::vector<form> out;
  const auto add = [&out](const std::string& pattern, day_month order, strictness strict) {
    auto made = calendar::time_format::of(pattern);
    FLOWRUN_CHECK(std::holds_alternative<calendar::time_format>(made));
    out.push_back({pattern, std::get<calendar::time_format>(std::move(made)), order, strict});
  };
  for (const date_part& date : date_parts) add(date.pattern, date.order, date.strict);
  for (const date_part& date : date_parts)
    for (const std::string_view joint : joints)
      for (const std::string_view clock : clocks) {
        // Digits meet digits only where all are digits, and a colon joins in logs of web servers alone.
        const bool solid = clock == "%H%M%S";
        if ((solid ? joint != "" && joint != "T" : joint == "") || (solid && date.strict != strictness::all_digits) ||
            (joint == ":" && std::string_view(date.pattern) != "%d/%b/%Y"))
          continue;
        for (const char* const zone : zones)
          add(fmt::format("{}{}{}{}", date.pattern, joint, clock, zone), date.order, date.strict);
      }
  for (const char* const pattern : whole_forms) add(pattern, day_month::no_question, strictness::year_of_four);
  return out;
}

const std::vector<form>& all_forms() {
  static const std::vector<form> forms = make_forms();
  return forms;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The digits and letters before the first blank, T or comma are in groups of two (or a name).
bool has_two_digits_each(std::string_view text) {
  size_t run = 0, groups = 0;
  for (size_t i = 0; i <= text.size() && groups < 3; ++i) {
    if (i < text.size() && is_digit(text[i])) {
      ++run;
    } else if (run > 0) {
      if (run != 2) return false;
      ++groups;
      run = 0;
    }
  }
  return true;
}

bool reads(const form& f, std::string_view text, int64_t& us) {
  if (!f.reader.parse(text, us)) return false;
  if (f.strict == strictness::two_digits_each) return has_two_digits_each(text);
  const int32_t year = calendar::civil_of(calendar::day_of_us(us)).year;
  if (f.strict == strictness::year_of_four) return year >= 1000;
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  return (digits == 8 || digits == 14) && year >= 1900 && year < 2100;
}

// What none of the forms reads is told without trying them.
bool may_be_time(std::string_view text) {
  constexpr size_t shortest = 6, longest = 48;
  return text.size() >= shortest && text.size() <= longest && std::count_if(text.begin(), text.end(), is_digit) >= 4;
}

}  // namespace

void time_forms::add(std::string_view text) {
  int64_t us = 0;
  if (begun_) {
    std::erase_if(left_, [&](candidate& c) {
      if (!reads(all_forms()[c.form], text, us)) return true;
      c.least_us = std::min(c.least_us, us);
      c.most_us = std::max(c.most_us, us);
      return false;
    });
    return;
  }
  begun_ = true;
  if (!may_be_time(text)) return;
  for (size_t i = 0; i < all_forms().size(); ++i)
    if (reads(all_forms()[i], text, us)) left_.push_back({i, us, us});
}

bool time_forms::are_numbers() const {
  return any() && std::all_of(left_.begin(), left_.end(), [](const candidate& c) {
           const std::string& pattern = all_forms()[c.form].pattern;
           return pattern == "%Y%m%d" || pattern == "%Y%m%d%H%M%S";
         });
}

bool time_forms::ambiguous() const {
  const auto has = [this](day_month order) {
    return std::any_of(left_.begin(), left_.end(),
                       [&](const candidate& c) { return all_forms()[c.form].order == order; });
  };
  return has(day_month::day_first) && has(day_month::month_first);
}

std::optional<bool> time_forms::day_first() const {
  if (!any() || ambiguous()) return std::nullopt;
  const day_month order = all_forms()[left_.front().form].order;
  if (order == day_month::no_question) return std::nullopt;
  return order == day_month::day_first;
}

time_forms::reading time_forms::best(std::optional<bool> day_first) const {
  FLOWRUN_CHECK(any());
  const candidate* chosen = &left_.front();
  for (const candidate& c : left_) {
    const day_month order = all_forms()[c.form].order;
    if (day_first && order == (*day_first ? day_month::day_first : day_month::month_first)) {
      chosen = &c;
      break;
    }
  }
  const form& f = all_forms()[chosen->form];
  return {f.pattern, f.reader.has_clock(), chosen->least_us, chosen->most_us};
}

}  // namespace flowrun::operators
