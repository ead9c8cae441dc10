#include "engine/expr/known_elsewhere.h"

#include <fmt/format.h>

namespace flowrun::expr {

namespace {

struct other_name {
  std::string_view name, write;
};
constexpr other_name others[] = {
    {"len", "length(text)"},
    {"strlen", "length(text)"},
    {"size", "length(text)"},
    {"substr", "text[a:b]"},
    {"substring", "text[a:b]"},
    {"left", "text[:n]"},
    {"strip", "trim(text)"},
    {"tolower", "lower(text)"},
    {"lcase", "lower(text)"},
    {"toupper", "upper(text)"},
    {"ucase", "upper(text)"},
    {"startswith", "starts_with(text, part)"},
    {"endswith", "ends_with(text, part)"},
    {"includes", "contains(text, part)"},
    {"str", "string(x)"},
    {"text", "string(x)"},
    {"to_string", "string(x)"},
    {"int", "i64(x), or to_i64(x) for a text"},
    {"to_int", "to_i64(text)"},
    {"parse_int", "to_i64(text)"},
    {"uint", "u64(x), or to_u64(x) for a text"},
    {"to_uint", "to_u64(text)"},
    {"float", "f64(x), or to_f64(x) for a text"},
    {"double", "f64(x), or to_f64(x) for a text"},
    {"to_float", "to_f64(text)"},
    {"parse_float", "to_f64(text)"},
    {"iif", "if(condition, a, b)"},
    {"ifelse", "if(condition, a, b)"},
    {"least", "min(a, b)"},
    {"greatest", "max(a, b)"},
    {"ceiling", "ceil(x)"},
    {"fabs", "abs(x)"},
    {"random", "rand_f64(1, i), or rand(1, i) for 64 bits"},
    {"hash", "hash64(1, x)"},
    {"isnull", "x == '' for a text, or is_nan(x) for a float: nothing else is missing"},
    {"is_null", "x == '' for a text, or is_nan(x) for a float: nothing else is missing"},
    {"isna", "x == '' for a text, or is_nan(x) for a float: nothing else is missing"},
    {"isnan", "is_nan(x)"},
    {"ifnull", "coalesce(x, y)"},
    {"nvl", "coalesce(x, y)"},
    {"fillna", "coalesce(x, y)"},
    {"ln", "log(x)"},
    {"mod", "a % b, or floor_mod(a, b) with the sign of b"},
    {"power", "pow(x, y)"},
    {"truncate", "trunc(x)"},
    {"sgn", "sign(x)"},
    {"right", "text[length(text) - n:]"},
    {"mid", "text[a:b]"},
    {"ltrim", "trim_left(text)"},
    {"lstrip", "trim_left(text)"},
    {"rtrim", "trim_right(text)"},
    {"rstrip", "trim_right(text)"},
    {"lpad", "pad_left(text, n, '0')"},
    {"rjust", "pad_left(text, n)"},
    {"zfill", "pad_left(text, n, '0')"},
    {"rpad", "pad_right(text, n)"},
    {"ljust", "pad_right(text, n)"},
    {"instr", "find(text, part), which counts from 0"},
    {"strpos", "find(text, part), which counts from 0"},
    {"position", "find(text, part), which counts from 0"},
    {"indexof", "find(text, part)"},
    {"index_of", "find(text, part)"},
    {"split", "split_part(text, separator, n)"},
    {"regexp_like", "regex_matches(text, pattern)"},
    {"rlike", "regex_matches(text, pattern)"},
    {"like", "regex_matches(text, pattern), starts_with, ends_with or contains"},
    {"ilike", "regex_matches(text, '(?i)…')"},
    {"match", "regex_matches(text, pattern)"},
    {"matches", "regex_matches(text, pattern)"},
    {"regexp_substr", "regex_extract(text, pattern)"},
    {"extract", "regex_extract(text, pattern)"},
    {"regexp_sub", "regex_replace(text, pattern, by)"},
    {"sub", "regex_replace(text, pattern, by), or replace(text, part, by)"},
    {"translate", "replace(text, part, by)"},
    {"to_hex", "hex(x)"},
    {"from_hex", "unhex(text)"},
    {"cast", "the type as a function: u64(x), f64(x), string(x); to_u64(text) reads a number"},
    {"datediff", "date_diff('day', from, to)"},
    {"timestampdiff", "date_diff('second', from, to)"},
    {"dateadd", "date_add('day', n, t)"},
    {"date_sub", "date_add('day', -n, t)"},
    {"trunc_date", "date_trunc('month', t)"},
    {"datetrunc", "date_trunc('month', t)"},
    {"date_part", "year(t), month(t), day(t), hour(t) and so on"},
    {"dayofweek", "weekday(t), where Monday is 1"},
    {"day_of_week", "weekday(t), where Monday is 1"},
    {"isodow", "weekday(t), where Monday is 1"},
    {"dow", "weekday(t), where Monday is 1"},
    {"dayofyear", "day_of_year(t)"},
    {"weekofyear", "week(t)"},
    {"day_of_month", "day(t)"},
    {"date", "to_date(x)"},
    {"timestamp", "to_timestamp(x)"},
    {"datetime", "to_timestamp(x)"},
    {"to_datetime", "to_timestamp(x)"},
    {"parse_date", "to_date(text, '%d.%m.%Y')"},
    {"parse_timestamp", "to_timestamp(text, '%d.%m.%Y %H:%M')"},
    {"strptime", "to_timestamp(text, '%d.%m.%Y %H:%M'), or to_date"},
    {"date_format", "strftime(t, '%d.%m.%Y')"},
    {"format_date", "strftime(t, '%d.%m.%Y')"},
    {"to_char", "strftime(t, '%d.%m.%Y')"},
    {"from_unixtime", "to_timestamp(1000000 * seconds)"},
    {"epoch", "to_i64(t) / 1000000 for seconds"},
    {"unix_timestamp", "to_i64(t) / 1000000 for seconds"},
    {"now", "a parameter of the job: a result depends on the input alone"},
    {"today", "a parameter of the job: a result depends on the input alone"},
    {"current_date", "a parameter of the job: a result depends on the input alone"},
    {"last_day", "date_add('day', -1, date_add('month', 1, date_trunc('month', t)))"},
    {"case", "if(condition, a, b)"},
};

constexpr other_name other_aggregates[] = {
    {"mean", "avg(x)"},
    {"average", "avg(x)"},
    {"std", "stddev(x)"},
    {"stdev", "stddev(x)"},
    {"stddev_samp", "stddev(x)"},
    {"var", "variance(x)"},
    {"var_samp", "variance(x)"},
    {"any_value", "first(x)"},
    {"count_distinct", "approx_count_distinct(x); or sort by the keys and x with unique: true, and count()"},
    {"nunique", "approx_count_distinct(x); or sort by the keys and x with unique: true, and count()"},
    {"count_if", "sum(u8(condition))"},
    {"countif", "sum(u8(condition))"},
};

template <size_t Size>
std::string written_here(const other_name (&names)[Size], std::string_view name) {
  for (const other_name& o : names)
    if (o.name == name) return fmt::format("write {}", o.write);
  return {};
}

}  // namespace

std::string known_elsewhere(std::string_view function) { return written_here(others, function); }
std::string aggregate_known_elsewhere(std::string_view aggregate) { return written_here(other_aggregates, aggregate); }

}  // namespace flowrun::expr
