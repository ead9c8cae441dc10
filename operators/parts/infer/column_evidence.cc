#include "operators/parts/infer/column_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "operators/parts/text/csv_value.h"
#include "specs/source_text.h"

namespace flowrun::operators {

namespace {

using record::type_kind;
using record::value_type;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool has_digit(std::string_view text) { return std::any_of(text.begin(), text.end(), is_digit); }

// Whether a number has other digits than its f64, written with as many.
bool is_rounded(std::string_view text, double real) {
  constexpr size_t always_kept = 15, most = 60;
  std::string digits;
  for (const char c : text.substr(0, text.find_first_of("eE")))
    if (is_digit(c) && (c != '0' || !digits.empty())) digits += c;
  if (digits.size() <= always_kept || digits.size() > most) return digits.size() > most;
  std::string kept = fmt::format("{:.{}e}", std::abs(real), digits.size() - 1);
  kept.resize(kept.find('e'));
  std::erase(kept, '.');
  return kept != digits;
}

template <class T>
bool read(type_kind kind, std::string_view text, T& out) {
  std::byte bytes[sizeof(T)]{};
  if (!parse_value(value_type::of(kind), text, bytes)) return false;
  std::memcpy(&out, bytes, sizeof out);
  return true;
}

// Digits in groups of three: "1.234.567" with '.', and behind `point` more digits. At least one of both must be there.
bool is_grouped(std::string_view text, char group, char point, bool needs_group) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const size_t at = std::min(text.find(point), text.size());
  std::string_view whole = text.substr(0, at);
  const std::string_view rest = text.substr(at);
  if (rest.size() == 1 || (rest.size() > 1 && !std::all_of(rest.begin() + 1, rest.end(), is_digit))) return false;
  const bool has_group = whole.find(group) != std::string_view::npos;
  if (needs_group ? !has_group : rest.empty()) return false;
  if (!has_group) return !whole.empty() && std::all_of(whole.begin(), whole.end(), is_digit);
  for (bool first = true;; first = false) {
    const size_t end = std::min(whole.find(group), whole.size());
    const std::string_view part = whole.substr(0, end);
    if (part.empty() || part.size() > 3 || (!first && part.size() != 3) ||
        !std::all_of(part.begin(), part.end(), is_digit))
      return false;
    if (end == whole.size()) return true;
    whole.remove_prefix(end + 1);
  }
}

// Digits behind the point; 0 for a number that is not written with digits on both sides of a point.
uint64_t fraction_digits_of(std::string_view digits) {
  const size_t point = std::min(digits.find('.'), digits.size());
  const std::string_view before = digits.substr(0, point), behind = digits.substr(std::min(point + 1, digits.size()));
  const auto all = [](std::string_view text) { return std::all_of(text.begin(), text.end(), is_digit); };
  return !before.empty() && all(before) && all(behind) ? behind.size() : 0;
}

bool is_yes_or_no(std::string_view text) {
  constexpr std::string_view words[] = {"yes",  "no",    "Yes", "No",  "YES", "NO",   "y",    "n",
                                        "Y",    "N",     "t",   "f",   "T",   "F",    "True", "False",
                                        "TRUE", "FALSE", "on",  "off", "ja",  "nein", "oui",  "non"};
  return std::find(std::begin(words), std::end(words), text) != std::end(words);
}

void count(column_evidence::share& of, bool is_one, std::string_view text, const field_place& at) {
  constexpr size_t most_shown = 64;
  if (is_one) {
    ++of.count;
  } else if (!of.failed) {
    of.failed = true;
    of.other = text.substr(0, most_shown);
    of.where = at;
  }
}

}  // namespace

void column_evidence::add(std::string_view text, bool quoted, const field_place& at) {
  ++cells;
  if (const auto word = missing_word(text)) {
    ++(quoted ? quoted_missing : missing)[*word];
    return;
  }
  const bool first = values++ == 0;
  shortest = std::min(shortest, text.size());
  longest = std::max(longest, text.size());
  if (!more_different && std::find(different.begin(), different.end(), text) == different.end()) {
    constexpr size_t longest_kept = 64;
    if (different.size() == most_different || text.size() > longest_kept)
      more_different = true;
    else
      different.emplace_back(text);
  }
  // Most texts are no numbers, and their first byte tells.
  const char lead = text.front();
  const bool may_be_number = is_digit(lead) || lead == '-' || lead == '+' || lead == '.';
  const std::string_view digits = lead == '-' || lead == '+' ? text.substr(1) : text;
  const bool all_digits = may_be_number && !digits.empty() && std::all_of(digits.begin(), digits.end(), is_digit);

  int64_t number = 0;
  uint64_t magnitude = 0;
  const bool fits_signed = all_digits && read(type_kind::i64, text, number);
  const bool fits_unsigned = all_digits && lead != '-' && read(type_kind::u64, text, magnitude);
  count(integers, fits_signed || fits_unsigned, text, at);
  if (all_digits) {
    leading_zeros += digits.size() > 1 && digits.front() == '0';
    with_plus += lead == '+';
    negative += lead == '-';
    above_i64 += !fits_signed && fits_unsigned;
    long_integers += !fits_signed && !fits_unsigned;
    if (fits_unsigned) {
      most_unsigned = std::max(most_unsigned, magnitude);
      least_unsigned = std::min(least_unsigned, magnitude);
    }
    if (fits_signed) {
      most_signed = std::max(most_signed, number);
      least_signed = std::min(least_signed, number);
    }
  }
  double real = 0;
  // "inf" and "nan" alone make no column of numbers: has_digit.
  const bool is_float = may_be_number && has_digit(text) && read(type_kind::f64, text, real);
  count(floats, is_float, text, at);
  if (is_float) {
    const bool first_float = floats.count == 1;
    least = first_float ? real : std::min(least, real);
    most = first_float ? real : std::max(most, real);
    const uint64_t behind_point = lead == '+' ? 0 : fraction_digits_of(digits);
    fraction_digits = first_float || fraction_digits == behind_point ? behind_point : 0;
    rounded += !all_digits && is_rounded(digits, real);
    const std::string_view before = digits.substr(0, digits.find('.'));
    if (!all_digits) leading_zeros += before.size() > 1 && before.front() == '0';
  }
  int32_t day = 0;
  const bool is_date = is_digit(lead) && read(type_kind::date, text, day);
  count(dates, is_date, text, at);
  if (is_date) {
    least_day = dates.count == 1 ? day : std::min<int64_t>(least_day, day);
    last_day = dates.count == 1 ? day : std::max<int64_t>(last_day, day);
  }
  int64_t us = 0;
  const bool is_timestamp = is_digit(lead) && read(type_kind::timestamp, text, us);
  count(timestamps, is_timestamp, text, at);
  if (is_timestamp) {
    least_us = timestamps.count == 1 ? us : std::min(least_us, us);
    most_us = timestamps.count == 1 ? us : std::max(most_us, us);
  }
  count(booleans, text == "true" || text == "false", text, at);
  if (first || forms.any()) forms.add(text);

  yes_or_no += is_yes_or_no(text);
  if (may_be_number && !is_float) {
    decimal_commas += is_grouped(text, '.', ',', false);
    grouped += is_grouped(text, ',', '.', true);
  }
  if (text.front() == ' ' || text.back() == ' ') {
    const size_t begin = std::min(text.find_first_not_of(' '), text.size());
    const std::string_view within = text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
    padded_numbers += has_digit(within) && read(type_kind::f64, within, real);
  }
  not_utf8 += !specs::is_utf8(text);
  with_line_ends += text.find('\n') != std::string_view::npos;
}

}  // namespace flowrun::operators
