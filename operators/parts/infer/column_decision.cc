#include "operators/parts/infer/column_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "engine/base/calendar.h"
#include "engine/base/counted.h"
#include "engine/base/excerpt.h"
#include "engine/base/units.h"
#include "engine/record/float_text.h"
#include "operators/parts/text/csv_value.h"

namespace flowrun::operators {

namespace {

using record::type_kind;
using record::value_type;

// A sample of numbers below this is of u32: the file may have ones that are sixteen times as large.
constexpr uint64_t most_of_u32 = uint64_t{1} << 28;
// Up to here f64 has every integer.
constexpr double most_exact = 9007199254740992.0;
// A value that is none of a type that nearly all others are of is worth a word.
constexpr uint64_t most_exceptions = 100;  // one in so many

std::string date_text(int64_t day) {
  char text[calendar::max_date_chars];
  return {text, calendar::write_date(day, text)};
}

std::string timestamp_text(int64_t us) {
  char text[calendar::max_timestamp_chars];
  return {text, calendar::write_timestamp(us, text)};
}

bool names_a_day(std::string_view name) {
  std::string lower;
  for (const char c : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view word : {"date", "day", "datum", "time", "stamp", "_dt", "dt_", "_at"})
    if (lower.find(word) != std::string::npos) return true;
  return lower == "dt";
}

class decision {
 public:
  decision(const column_evidence& seen, std::string_view name, std::optional<bool> day_first, column_kind kind)
      : seen_(seen), name_(name), day_first_(day_first), kind_(kind) {}

  column_decision take() {
    if (kind_ == column_kind::numbers) {
      as_number();
    } else {
      if (!(kind_ == column_kind::texts ? as_time_in_text() : as_value())) as_text();
      if (kind_ == column_kind::any) count_missing();
    }
    return std::move(out_);
  }

 private:
  bool all(const column_evidence::share& of) const { return of.count == seen_.values; }
  void be(type_kind kind) { out_.type = value_type::of(kind); }
  void note(std::string text) { out_.notes.push_back(std::move(text)); }

  // Whether there is a type for all values but text.
  bool as_value() {
    if (seen_.values == 0) return only_floats_without_digits();
    if (all(seen_.booleans)) {
      be(type_kind::boolean);
      return true;
    }
    if (all(seen_.integers)) return as_integer();
    if (all(seen_.floats)) return as_float();
    if (all(seen_.dates)) {
      be(type_kind::date);
      out_.least = date_text(seen_.least_day);
      out_.most = date_text(seen_.last_day);
      return true;
    }
    if (all(seen_.timestamps)) {
      be(type_kind::timestamp);
      out_.least = timestamp_text(seen_.least_us);
      out_.most = timestamp_text(seen_.most_us);
      return true;
    }
    return seen_.forms.any() && as_formed_time();
  }

  // A text that is missing in other files is one here, and no time.
  bool as_time_in_text() {
    if (seen_.values == 0 || seen_.values < seen_.cells) return false;
    if (all(seen_.dates) || all(seen_.timestamps)) return as_value();
    if (!all(seen_.floats)) return seen_.forms.any() && as_formed_time();
    if (seen_.forms.are_numbers() && names_a_day(name_)) return as_formed_time();
    note(fmt::format("numbers in quotes: to_{}({}) in a map", all(seen_.integers) ? "i64" : "f64", name_));
    return false;
  }

  // What f64 doesn't have is rounded, since a text can't have numbers.
  void as_number() {
    const bool are_integers = all(seen_.integers) && !(seen_.negative > 0 && seen_.above_i64 > 0);
    if (are_integers) return set_integer();
    be_float();
    if (seen_.long_integers + seen_.above_i64 > 0)
      out_.questions.emplace_back("integers of more than 64 bits, or of both signs, are rounded: f64");
  }

  // Nothing but NaN: numbers, unless something else is missing besides.
  bool only_floats_without_digits() {
    uint64_t words = 0;
    for (size_t i = 0; i < missing_words.size(); ++i)
      if (is_float_word(i)) words += seen_.missing[i] + seen_.quoted_missing[i];
    if (words == 0 || words != seen_.cells) return false;
    be(type_kind::f64);
    note("only NaN");
    return true;
  }

  bool as_integer() {
    if (seen_.forms.are_numbers() && (names_a_day(name_) || seen_.different.size() >= 3)) return as_formed_time();
    if (seen_.leading_zeros > 0) {
      note("numbers, but some begin with 0, which a number would lose");
      return false;
    }
    if (seen_.with_plus > 0 && seen_.negative == 0) {
      note("numbers, but they begin with +, which a number would lose");
      return false;
    }
    if (seen_.negative > 0 && seen_.above_i64 > 0) {
      note("integers, but from below 0 to beyond i64");
      return false;
    }
    set_integer();
    return true;
  }

  void set_integer() {
    if (seen_.negative > 0) {
      be(type_kind::i64);
      out_.least = fmt::format("{}", seen_.least_signed);
      out_.most = fmt::format("{}", seen_.most_signed);
      return;
    }
    be(seen_.most_unsigned <= most_of_u32 ? type_kind::u32 : type_kind::u64);
    out_.least = fmt::format("{}", seen_.least_unsigned);
    out_.most = fmt::format("{}", seen_.most_unsigned);
    if (seen_.most_unsigned == 1 && seen_.least_unsigned == 0) note("bool would do");
    constexpr uint64_t first_second = 1'000'000'000, last_second = 2'000'000'000;  // 2001 to 2033
    if (seen_.least_unsigned >= first_second && seen_.most_unsigned < last_second && names_a_day(name_))
      note(kind_ == column_kind::numbers
               ? "seconds since 1970? to_timestamp of 1000000 times as much, in a map, would make times"
               : "seconds since 1970? timestamp and the format \"%s\" would read them so");
  }

  bool as_float() {
    if (seen_.long_integers > 0) {
      note("integers of more digits than 64 bits have");
      return false;
    }
    if (seen_.leading_zeros > 0) {
      note("numbers, but some begin with 0, which a number would lose");
      return false;
    }
    be_float();
    return true;
  }

  bool is_decimal() const {
    constexpr uint64_t least_digits = 2, most_digits = 4;
    constexpr double most = 1e12;  // so that a million times as much fits
    return seen_.fraction_digits >= least_digits && seen_.fraction_digits <= most_digits && -most < seen_.least &&
           seen_.most < most;
  }

  void be_float() {
    if (is_decimal()) {
      out_.type = value_type::decimal(static_cast<uint32_t>(seen_.fraction_digits));
      out_.least = fmt::format("{:.{}f}", seen_.least, seen_.fraction_digits);
      out_.most = fmt::format("{:.{}f}", seen_.most, seen_.fraction_digits);
      return;
    }
    be(type_kind::f64);
    out_.least = record::float_text(seen_.least);
    out_.most = record::float_text(seen_.most);
    if (seen_.integers.count > 0 && std::max(-seen_.least, seen_.most) > most_exact)
      note("integers beyond 2^53 are rounded");
    else if (seen_.rounded > 0)
      note("some have more digits than f64, which rounds them: as string or decimal[S] they stay");
  }

  bool as_formed_time() {
    const time_forms::reading how = seen_.forms.best(day_first_);
    be(how.has_clock ? type_kind::timestamp : type_kind::date);
    out_.form = how.pattern;
    out_.least = how.has_clock ? timestamp_text(how.least_us) : date_text(calendar::day_of_us(how.least_us));
    out_.most = how.has_clock ? timestamp_text(how.most_us) : date_text(calendar::day_of_us(how.most_us));
    if (seen_.forms.ambiguous()) {
      const time_forms::reading other = seen_.forms.best(!day_comes_first(how.pattern));
      const std::string why = day_first_ ? "as in another column" : "as is usual for this way of writing";
      out_.questions.push_back(
          fmt::format("no day is larger than 12: {}, {}; or {}?", how.pattern, why, other.pattern));
    }
    return true;
  }

  static bool day_comes_first(const std::string& pattern) { return pattern.find("%d") < pattern.find("%m"); }

  void as_text() {
    be(type_kind::string);
    if (seen_.cells == 0) return note("no field was seen");
    if (seen_.values > 0) {
      explain_text();
      note(seen_.shortest == seen_.longest
               ? counted(seen_.longest, "byte")
               : fmt::format("{} to {} bytes", format_count(seen_.shortest), format_count(seen_.longest)));
      list_texts();
    } else {
      note("no value was seen");
    }
    count_words();
    if (seen_.not_utf8 > 0) note(fmt::format("{} not UTF-8", format_count(seen_.not_utf8)));
    if (seen_.with_line_ends > 0) note(fmt::format("{} with line ends", format_count(seen_.with_line_ends)));
  }

  // Where there are few.
  void list_texts() {
    constexpr size_t most_listed = 4;
    if (seen_.more_different || seen_.different.size() > most_listed || seen_.values < 2 * seen_.different.size())
      return;
    std::string list;
    for (const std::string& text : seen_.different) list += (list.empty() ? "" : ", ") + quoted_excerpt(text);
    const bool always = seen_.different.size() == 1 && seen_.values == seen_.cells;
    note((always ? "always " : "only ") + list);
  }

  // Texts that would be missing values in a column of numbers, and are counted apart here, too.
  void count_words() {
    for (size_t i = 0; i < missing_words.size(); ++i) {
      const uint64_t fields = seen_.missing[i] + seen_.quoted_missing[i];
      if (fields == 0) continue;
      note(missing_words[i].empty() ? fmt::format("{} empty", format_count(fields))
                                    : fmt::format("{} \"{}\"", format_count(fields), missing_words[i]));
    }
  }

  // Why it is none of another type, where it nearly is.
  void explain_text() {
    if (seen_.decimal_commas == seen_.values ||
        (seen_.decimal_commas > 0 && seen_.decimal_commas + seen_.floats.count == seen_.values))
      return note(fmt::format(
          "numbers with a decimal comma: to_f64(replace(replace({}, \".\", \"\"), \",\", \".\")) in a map", name_));
    if (seen_.grouped > 0 && seen_.grouped + seen_.floats.count == seen_.values)
      return note(
          fmt::format("numbers with commas between thousands: to_f64(replace({}, \",\", \"\")) in a map", name_));
    if (seen_.padded_numbers > 0 && seen_.padded_numbers + seen_.floats.count == seen_.values)
      return note(fmt::format("numbers with blanks around them: to_f64(trim({})) in a map", name_));
    if (seen_.yes_or_no == seen_.values && seen_.different.size() == 2)
      return note(
          fmt::format("yes or no: {} == {} in a map is a bool", name_, quoted_excerpt(seen_.different.front())));
    for (const auto& [share, what] :
         {std::pair<const column_evidence::share&, const char*>{seen_.integers, "an integer"},
          {seen_.floats, "a number"},
          {seen_.dates, "a date"},
          {seen_.timestamps, "a timestamp"},
          {seen_.booleans, "true or false"}}) {
      const uint64_t others = seen_.values - share.count;
      if (others == 0 || share.count < most_exceptions * others) continue;
      const std::string place = share.where.line > 0 ? fmt::format("line {}", format_count(share.where.line))
                                                     : fmt::format("byte {}", format_count(share.where.byte));
      out_.questions.push_back(fmt::format("{} in all but {} of {} values, the first of these {} in {}: text for now",
                                           what, format_count(others), format_count(seen_.values),
                                           quoted_excerpt(share.other), place));
      return;
    }
  }

  void count_missing() {
    if (out_.type.is_string()) return;
    for (size_t i = 0; i < missing_words.size(); ++i) {
      const uint64_t fields = seen_.missing[i] + seen_.quoted_missing[i];
      if (fields == 0 || (out_.type.is_float() && is_float_word(i))) continue;
      out_.missing.push_back(i);
      out_.num_missing += fields;
    }
  }

  const column_evidence& seen_;
  const std::string_view name_;
  const std::optional<bool> day_first_;
  const column_kind kind_;
  column_decision out_;
};

}  // namespace

column_decision decide_column(const column_evidence& seen, std::string_view name, std::optional<bool> day_first,
                              column_kind kind) {
  return decision(seen, name, day_first, kind).take();
}

}  // namespace flowrun::operators
