// Functions of dates and timestamps. What is a number among their results is i64.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "engine/base/calendar.h"
#include "engine/base/fault.h"
#include "engine/base/time_format.h"
#include "engine/expr/coerce.h"
#include "engine/expr/function_table.h"
#include "engine/expr/row_call.h"
#include "engine/expr/text_kernels.h"
#include "engine/expr/time_lane.h"
#include "engine/expr/times.h"

namespace flowrun::expr {

namespace {

using calendar::time_format;
using record::type_kind;
using record::value_type;

const value_type i64 = value_type::of(type_kind::i64);
const value_type date = value_type::of(type_kind::date);
const value_type timestamp = value_type::of(type_kind::timestamp);
const value_type string = value_type::of(type_kind::string);

constexpr std::array<std::pair<std::string_view, time_unit>, 10> units = {{{"microsecond", time_unit::microsecond},
                                                                           {"millisecond", time_unit::millisecond},
                                                                           {"second", time_unit::second},
                                                                           {"minute", time_unit::minute},
                                                                           {"hour", time_unit::hour},
                                                                           {"day", time_unit::day},
                                                                           {"week", time_unit::week},
                                                                           {"month", time_unit::month},
                                                                           {"quarter", time_unit::quarter},
                                                                           {"year", time_unit::year}}};

uint64_t us_of(time_unit unit) {
  switch (unit) {
    case time_unit::millisecond: return 1000;
    case time_unit::second: return calendar::us_per_second;
    case time_unit::minute: return calendar::us_per_minute;
    case time_unit::hour: return calendar::us_per_hour;
    case time_unit::day: return calendar::us_per_day;
    case time_unit::week: return 7 * calendar::us_per_day;
    default: return 1;
  }
}
uint64_t months_of(time_unit unit) { return unit == time_unit::year ? 12 : unit == time_unit::quarter ? 3 : 1; }
bool is_of_clock(time_unit unit) { return unit < time_unit::day; }
bool is_of_months(time_unit unit) { return unit > time_unit::week; }

bool require_time(const call_site& s, size_t i) {
  if (s.args[i]->type.is_time()) return true;
  s.fault(i, fmt::format("this is {}", to_string(s.args[i]->type)), "a date or a timestamp",
          s.args[i]->type.is_text() ? "write to_date(text) or to_timestamp(text)" : "");
  return false;
}

std::optional<time_unit> unit_of(const call_site& s) {
  std::vector<std::string> names;
  for (const auto& [name, unit] : units) names.emplace_back(name);
  if (s.args[0]->op != opcode::text_constant || !s.args[0]->known) {
    const bool is_last = s.args.back()->op == opcode::text_constant;
    s.fault(0, "the unit is not a constant text", one_of(names),
            is_last ? fmt::format("the unit comes first: {}('month', …)", s.call.text) : "");
    return {};
  }
  for (const auto& [name, unit] : units)
    if (name == s.args[0]->text) return unit;
  s.fault(0, fmt::format("unknown unit '{}'", s.args[0]->text), one_of(names), did_you_mean(s.args[0]->text, names));
  return {};
}

// Dates have no parts below the day.
bool suits(const call_site& s, time_unit unit, size_t i) {
  if (!is_of_clock(unit) || s.args[i]->type.is_timestamp()) return true;
  s.fault(i, fmt::format("a date has no {}s", s.args[0]->text), "a timestamp, or a unit from day on",
          "write to_timestamp(x) for its midnight");
  return false;
}

node_ptr days_of(const node_ptr& time) {
  return time->type.is_date() ? time : op_node(opcode::days_of_us, date, {time});
}
node_ptr us_of(const node_ptr& time) {
  return time->type.is_timestamp() ? time : op_node(opcode::us_of_days, timestamp, {time});
}

node_ptr trunc_function(const call_site& s) {
  const auto unit = unit_of(s);
  if (!require_time(s, 1) || !unit || !suits(s, *unit, 1)) return nullptr;
  const node_ptr& time = s.args[1];
  const auto m = static_cast<uint64_t>(*unit);
  if (time->type.is_date()) return op_node(opcode::trunc_day, date, {time}, m);
  if (*unit <= time_unit::day) return op_node(opcode::trunc_us, timestamp, {time}, m);
  return us_of(op_node(opcode::trunc_day, date, {days_of(time)}, m));
}

node_ptr add_function(const call_site& s) {
  const auto unit = unit_of(s);
  const bool is_whole = s.require_signed(1);
  if (!require_time(s, 2) || !unit || !is_whole || !suits(s, *unit, 2)) return nullptr;
  const node_ptr& time = s.args[2];
  const node_ptr count = as_count(s.args[1]);
  const auto times = [&](uint64_t factor) { return op_node(opcode::scaled, i64, {count}, factor); };
  const bool is_date = time->type.is_date();
  if (is_of_months(*unit))
    return op_node(is_date ? opcode::add_months : opcode::add_months_us, time->type, {time, times(months_of(*unit))});
  if (!is_date) return op_node(opcode::add_us, timestamp, {time, times(us_of(*unit))});
  return op_node(opcode::add_days, date, {time, times(*unit == time_unit::week ? 7 : 1)});
}

node_ptr diff_function(const call_site& s) {
  const auto unit = unit_of(s);
  node_ptr from = s.args[1], to = s.args[2];
  if (to->type.is_time()) from = as_time(from, to->type);
  if (from->type.is_time()) to = as_time(to, from->type);
  for (size_t i = 1; i < 3; ++i)
    if (const auto no = time_misfit(*s.args[i], s.args[3 - i]->type))
      return s.fault(i, no->message, no->expected, no->hint);
  const call_site given{s.call, {s.args[0], from, to}, s.problems};
  const bool both = require_time(given, 1) && require_time(given, 2);
  if (!both || !unit) return nullptr;
  const auto number = [&](const node_ptr& time) {
    const auto m = static_cast<uint64_t>(*unit);
    if (is_of_clock(*unit)) return op_node(opcode::unit_of_us, i64, {us_of(time)}, m);
    return op_node(opcode::unit_of_day, i64, {days_of(time)}, m);
  };
  return op_node(opcode::sub, i64, {number(to), number(from)});
}

template <day_part Part>
node_ptr day_function(const call_site& s) {
  if (!require_time(s, 0)) return nullptr;
  return op_node(opcode::part_of_day, i64, {days_of(s.args[0])}, static_cast<uint64_t>(Part));
}
template <clock_part Part>
node_ptr clock_function(const call_site& s) {
  if (!require_time(s, 0)) return nullptr;
  if (s.args[0]->type.is_date()) return s.fault(0, "a date has no time of day", "a timestamp");
  return op_node(opcode::part_of_clock, i64, {s.args[0]}, static_cast<uint64_t>(Part));
}

// Of a text, as sort -M reads it, or of a time.
node_ptr month_function(const call_site& s) {
  if (s.args[0]->type.is_text()) return op_node(opcode::month, value_type::of(type_kind::u8), {s.args[0]});
  return day_function<day_part::month>(s);
}

// --- texts ---

// The pattern that argument `i` is; nullopt, with a problem, where it is none.
std::optional<time_format> pattern_of(const call_site& s, size_t i, bool reads) {
  if (!s.require_text(i)) return {};
  const node& pattern = *s.args[i];
  if (pattern.op != opcode::text_constant || !pattern.known) {
    s.fault(i, "this is not a constant", "a pattern such as '%d.%m.%Y'");
    return {};
  }
  auto made = time_format::of(pattern.text);
  if (const auto* no = std::get_if<time_format::fault>(&made)) {
    const size_t quote = 1;
    s.problems.push_back({s.call.children[i]->first + quote + no->offset,
                          fmt::format("{}: in the pattern '{}': {}", s.call.text, pattern.text, no->message),
                          no->expected, ""});
    return {};
  }
  time_format out = std::get<time_format>(std::move(made));
  if (const std::string why = out.why_no_reading(); reads && !why.empty()) {
    s.fault(i, fmt::format("'{}' can't be read with: {}", pattern.text, why), "a pattern such as '%d.%m.%Y'");
    return {};
  }
  return out;
}

using time_reader = bool (*)(std::string_view text, int64_t& lane);

// Calls of one function, the first argument of which is a text or a time. The pattern is known and checked before.
class time_call final : public outside_function {
 public:
  explicit time_call(std::string name) : help_{std::move(name), "", ""} {}
  const function_help& help() const override { return help_; }
  size_t min_args() const override { return 1; }
  size_t max_args() const override { return 2; }
  std::variant<binding, binding_fault> bind(const std::vector<given_argument>& args) const override {
    if (help_.name == "strftime") return binding{string, {timestamp, string}, printing(format_of(args))};
    const bool to_date = help_.name == "to_date", is_date = help_.name == "is_date";
    const value_type result = help_.name.starts_with("is_") ? value_type::of(type_kind::boolean)
                              : to_date                     ? date
                                                            : timestamp;
    if (args.size() > 1) {
      const auto lane_of = [to_date](int64_t us) { return to_date ? calendar::day_of_us(us) : us; };
      const auto read = [format = format_of(args), lane_of](std::string_view text, int64_t& lane) {
        int64_t us = 0;
        if (!format.parse(text, us)) return false;
        lane = lane_of(us);
        return true;
      };
      return binding{result, {string, string}, reading(read, result)};
    }
    return binding{
        result, {string}, reading(to_date || is_date ? calendar::parse_date : calendar::parse_timestamp, result)};
  }

 private:
  static time_format format_of(const std::vector<given_argument>& args) {
    return std::get<time_format>(time_format::of(args[1].text));
  }
  template <class Reader>
  static std::shared_ptr<const bound_call> reading(Reader read, value_type result) {
    if (result.is_boolean())
      return call_of_rows([read](const row_args& r) -> uint64_t {
        int64_t lane = 0;
        return read(r.text(0), lane) ? 1 : 0;
      });
    return call_of_rows([read](const row_args& r) -> uint64_t {
      int64_t lane = 0;
      return read(r.text(0), lane) ? static_cast<uint64_t>(lane) : 0;
    });
  }
  static std::shared_ptr<const bound_call> printing(time_format format) {
    return call_of_rows([format = std::move(format)](const row_args& r) -> std::string_view {
      const size_t most = format.max_chars();
      char* const out = r.arena().take(most);
      const auto length = static_cast<size_t>(format.print(static_cast<int64_t>(r.lane(0)), out) - out);
      r.arena().give_back(most - length);
      return {out, length};
    });
  }

  function_help help_;
};

// A constant text that is no time would give 1970-01-01 in every row.
bool require_constant_to_be_read(const call_site& s, value_type type, const std::optional<time_format>& format) {
  const node& text = *s.args[0];
  if (text.op != opcode::text_constant || !text.known) return true;
  if (!format) {
    const auto no = time_misfit(text, type);
    if (no)
      s.fault(0, no->message, no->expected,
              type.is_date() && !no->hint.empty() ? "write to_date(to_timestamp(x))" : "");
    return !no;
  }
  int64_t us = 0;
  if (format->parse(text.text, us)) return true;
  s.fault(0, fmt::format("'{}' does not have the form '{}'", text.text, s.args[1]->text), to_string(type));
  return false;
}

template <type_kind Kind>
node_ptr to_time_function(const call_site& s) {
  const value_type type = value_type::of(Kind), from = s.args[0]->type;
  static const time_call call("to_" + to_string(type));
  if (from.is_text()) {
    std::optional<time_format> format;
    if (s.args.size() > 1 && !(format = pattern_of(s, 1, true))) return nullptr;
    return require_constant_to_be_read(s, type, format) ? bound_call_of(call, s) : nullptr;
  }
  if (s.args.size() > 1)
    return s.fault(1, fmt::format("{} is read without a pattern", to_string(from)), "one argument");
  if (from.is_time()) return type.is_date() ? days_of(s.args[0]) : us_of(s.args[0]);
  if (from.is_integer()) return op_node(type.is_date() ? opcode::to_days : opcode::to_us, type, {as_count(s.args[0])});
  return s.fault(
      0, fmt::format("this is {}", to_string(from)),
      fmt::format("a text, {}, or an integer: {} since 1970-01-01", type.is_date() ? "a timestamp" : "a date",
                  type.is_date() ? "the days" : "the microseconds"),
      from.is_float() ? fmt::format("write to_{}(i64(x))", to_string(type)) : "");
}

template <type_kind Kind>
node_ptr is_time_function(const call_site& s) {
  static const time_call call("is_" + to_string(value_type::of(Kind)));
  if (!s.require_text(0)) return nullptr;
  if (s.args.size() > 1 && !pattern_of(s, 1, true)) return nullptr;
  return bound_call_of(call, s);
}

node_ptr strftime_function(const call_site& s) {
  static const time_call call("strftime");
  const bool is_time = require_time(s, 0);
  if (!pattern_of(s, 1, false) || !is_time) return nullptr;
  return bound_call_of(call, {s.call, {us_of(s.args[0]), s.args[1]}, s.problems});
}

constexpr function table[] = {
    {"to_date", "to_date(x[, pattern]) → date",
     "Of a text such as 2026-11-23, or of the pattern's form (as of strftime); 1970-01-01 if it is none (is_date). Of "
     "a timestamp its day, of an integer that many days after 1970-01-01.",
     1, 2, to_time_function<type_kind::date>},
    {"to_timestamp", "to_timestamp(x[, pattern]) → timestamp",
     "Of a text such as 2026-11-23T22:15:03Z, or of the pattern's form; 1970-01-01 if it is none (is_timestamp). Of a "
     "date its midnight, of an integer that many microseconds after 1970-01-01.",
     1, 2, to_time_function<type_kind::timestamp>},
    {"is_date", "is_date(text[, pattern]) → bool", "Whether to_date can read the text.", 1, 2,
     is_time_function<type_kind::date>},
    {"is_timestamp", "is_timestamp(text[, pattern]) → bool", "Whether to_timestamp can read the text.", 1, 2,
     is_time_function<type_kind::timestamp>},
    {"strftime", "strftime(t, pattern) → string",
     "The time in the pattern's form: %Y year, %m month, %d day, %H hour, %M minute, %S second, %f microsecond, %b "
     "Nov, %B November, %a Mon, %A Monday, %j day of the year, %y %e %u %V %G %I %p %z %Z %s %F %T %R %D as in C, %% a "
     "percent sign.",
     2, 2, strftime_function},
    {"date_trunc", "date_trunc(unit, t)",
     "The beginning of the unit that t lies in, in t's type. Units: 'microsecond' 'millisecond' 'second' 'minute' "
     "'hour' 'day' 'week' (from Monday) 'month' 'quarter' 'year'.",
     2, 2, trunc_function},
    {"date_add", "date_add(unit, n, t)",
     "n units after t, before it for n below 0; a month that is too short gives its last day. Stops at 0001-01-01 and "
     "9999-12-31.",
     3, 3, add_function},
    {"date_diff", "date_diff(unit, from, to) → i64",
     "How many beginnings of a unit lie behind `from` and up to `to`: from 23:59 to 00:01 it is 1 day. Below 0 where "
     "`to` comes first.",
     3, 3, diff_function},
    {"year", "year(t) → i64", "The year, 1 to 9999; of numbers in files of rows and arrays also others.", 1, 1,
     day_function<day_part::year>},
    {"quarter", "quarter(t) → i64", "The quarter of the year, 1 to 4.", 1, 1, day_function<day_part::quarter>},
    {"month", "month(x)",
     "The month of a time, 1 to 12, as i64. Of a text u8: 1 to 12 if it begins, behind blanks, with jan, feb, … dec in "
     "any case; else 0 (sort -M).",
     1, 1, month_function},
    {"day", "day(t) → i64", "The day of the month, 1 to 31.", 1, 1, day_function<day_part::day>},
    {"hour", "hour(t) → i64", "The hour of a timestamp, 0 to 23.", 1, 1, clock_function<clock_part::hour>},
    {"minute", "minute(t) → i64", "The minute of a timestamp's hour, 0 to 59.", 1, 1,
     clock_function<clock_part::minute>},
    {"second", "second(t) → i64", "The second of a timestamp's minute, 0 to 59.", 1, 1,
     clock_function<clock_part::second>},
    {"microsecond", "microsecond(t) → i64", "The microsecond of a timestamp's second, 0 to 999999.", 1, 1,
     clock_function<clock_part::microsecond>},
    {"weekday", "weekday(t) → i64", "1 for Monday to 7 for Sunday.", 1, 1, day_function<day_part::weekday>},
    {"day_of_year", "day_of_year(t) → i64", "1 for the first of January, to 366.", 1, 1,
     day_function<day_part::day_of_year>},
    {"week", "week(t) → i64",
     "The week by ISO 8601, 1 to 53: it begins on Monday, and week 1 is that of the year's first Thursday.", 1, 1,
     day_function<day_part::week>},
};

}  // namespace

std::span<const function> time_functions() { return table; }

}  // namespace flowrun::expr
