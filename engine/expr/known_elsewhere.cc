#include "engine/expr/known_elsewhere.h"

#include <fmt/format.h>

#include "engine/expr/words_of_sql.h"

namespace flowrun::expr {

namespace {

struct other_name {
  std::string_view name, write;
};

constexpr std::string_view this_moment =
    "params.now, with params: {now: {type: timestamp}} in the job and -p now=$(date -u +%FT%TZ) in the command: a "
    "result depends on the input alone";
constexpr std::string_view this_day =
    "params.today, with params: {today: {type: date}} in the job and -p today=$(date +%F) in the command: a result "
    "depends on the input alone";
constexpr std::string_view steps_of_time =
    "date_trunc('hour', t), or for 15 minutes, which are 900,000,000 microseconds, "
    "to_timestamp(floor_div(to_i64(t), 900000000) * 900000000)";
constexpr std::string_view no_digest =
    "hash64(1, x), or crc32(text): these are for no secrets, and there is no other digest";
constexpr std::string_view num_characters =
    "length(regex_replace(text, '(?s).', 'x')): length(text) alone counts the bytes";
constexpr std::string_view decoded_url =
    "replace(text, '%20', ' '), and the same for each other code that the texts have: no function decodes all";
constexpr std::string_view value_in_json =
    "regex_extract(text, r'\"key\": *\"([^\"]*)\"', 1) for a text, to_f64(regex_extract(text, r'\"key\": "
    "*([-+.0-9eE]+)', 1)) for a number; where whole lines are JSON, file.read_json_lines makes columns of the keys, "
    "also of those within objects: names: {city: address.city}";
constexpr std::string_view no_angles =
    "a function of a plugin of your own (docs/plugins.md): the language has no trigonometry";

constexpr other_name others[] = {
    {"not", "not, in small letters"},
    {"len", "length(text)"},
    {"strlen", "length(text)"},
    {"size", "length(text)"},
    {"substr", "text[a:b], where a counts from 0"},
    {"substring", "text[a:b], where a counts from 0"},
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
    {"right", "text[length(text) - min(n, length(text)):]"},
    {"mid", "text[a:b], where a counts from 0"},
    {"ltrim", "trim_left(text)"},
    {"lstrip", "trim_left(text)"},
    {"rtrim", "trim_right(text)"},
    {"rstrip", "trim_right(text)"},
    {"lpad", "pad_left(text, n, '0')"},
    {"rjust", "pad_left(text, n)"},
    {"zfill", "pad_left(text, n, '0')"},
    {"rpad", "pad_right(text, n)"},
    {"ljust", "pad_right(text, n)"},
    {"lag", "row[-1].x, in the let of a window"},
    {"lead", "row[1].x, in the let of a window"},
    {"row_number", "row_number, without parentheses; within groups a scan, with: {number: n, reset: [key]}"},
    {"rank", "a scan, with: {min_rank: {rank: [x]}}, and reset: [key] within groups"},
    {"dense_rank", "a scan, with: {dense_rank: {rank: [x]}}, and reset: [key] within groups"},
    {"cumsum", "a scan, with: {prefix_sum: {total: x}}, and reset: [key] within groups"},
    {"instr", "find(text, part), which counts from 0"},
    {"strpos", "find(text, part), which counts from 0"},
    {"position", "find(text, part), which counts from 0"},
    {"indexof", "find(text, part)"},
    {"index_of", "find(text, part)"},
    {"split", "split_part(text, separator, n)"},
    {"regexp_like", "regex_matches(text, pattern)"},
    {"rlike", "regex_matches(text, pattern)"},
    {"in", "x in (a, b)"},
    {"isin", "x in (a, b)"},
    {"is_in", "x in (a, b)"},
    {"between", "x between a and b"},
    {"like", "text like 'a%'"},
    {"ilike", "lower(text) like 'a%'"},
    {"match", "regex_matches(text, pattern)"},
    {"matches", "regex_matches(text, pattern)"},
    {"regexp_substr", "regex_extract(text, pattern)"},
    {"extract", "year(t), month(t), day(t), hour(t) and so on of a time, or regex_extract(text, pattern)"},
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
    {"isoweek", "week(t)"},
    {"dayname", "strftime(t, '%A')"},
    {"monthname", "strftime(t, '%B')"},
    {"make_date", "to_date(concat(y, '-', pad_left(string(m), 2, '0'), '-', pad_left(string(d), 2, '0')))"},
    {"day_of_month", "day(t)"},
    {"decimal", "to_decimal(x, 2)"},
    {"numeric", "to_decimal(x, 2)"},
    {"money", "to_decimal(x, 2)"},
    {"to_numeric", "to_decimal(x, 2)"},
    {"to_number", "to_decimal(x, 2), or to_f64(text)"},
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
    {"now", this_moment},
    {"current_timestamp", this_moment},
    {"getdate", this_moment},
    {"today", this_day},
    {"current_date", this_day},
    {"curdate", this_day},
    {"time_bucket", steps_of_time},
    {"date_bin", steps_of_time},
    {"md5", no_digest},
    {"sha1", no_digest},
    {"sha256", no_digest},
    {"sha512", no_digest},
    {"char_length", num_characters},
    {"character_length", num_characters},
    {"len_chars", num_characters},
    {"repeat", "replace(pad_left('', n, '-'), '-', text)"},
    {"reverse",
     "text[length(text) - n:], ends_with(text, part) or split_part(text, separator, -1) for what is at the end: no "
     "function turns a text round"},
    {"url_decode", decoded_url},
    {"urldecode", decoded_url},
    {"unquote", decoded_url},
    {"json_extract", value_in_json},
    {"json_extract_string", value_in_json},
    {"json_extract_scalar", value_in_json},
    {"json_value", value_in_json},
    {"json_query", value_in_json},
    {"get_json_object", value_in_json},
    {"sin", no_angles},
    {"cos", no_angles},
    {"tan", no_angles},
    {"asin", no_angles},
    {"acos", no_angles},
    {"atan", no_angles},
    {"atan2", no_angles},
    {"pi", "3.141592653589793"},
    {"last_day", "date_add('day', -1, date_add('month', 1, date_trunc('month', t)))"},
    {"case", "if(condition, a, b)"},
    {"concat_ws", "concat(a, '-', b, '-', c)"},
    {"initcap", "concat(upper(text[0:1]), lower(text[1:]))"},
    {"printf", "concat(text, x), and pad_left(string(x), n, '0') for a width"},
    {"div", "a / b of integers, or floor_div(a, b)"},
    {"bigint", "i64(x), or to_i64(x) for a text"},
};

constexpr std::string_view row_of_largest =
    "max(x) or min(x) for the value alone; for the row that has it, {op: sort, with: {by: [key, -x]}} and behind it "
    "{op: limit, with: {count: 1, by: [key]}}, and by: [key, x] for the smallest (docs/how-to/top-k.md)";
constexpr std::string_view most_frequent =
    "two sorts and a limit: by: [key, x] with combine: {n: count()}, by: [key, -n], and limit, with: {count: 1, by: "
    "[key]}";
constexpr std::string_view joined_texts =
    "a scan behind a sort by the key: state: {all: \"''\"}, set: {all: \"if(all == '', x, concat(all, ',', x))\"}, "
    "emit: {key: key, all: all}, reset: [key]; behind it group has the whole text of each key, last(all)";
constexpr std::string_view of_population =
    "variance(x), which divides by n - 1, beside n: count(), and in a map behind variance * f64(n - 1) / f64(n); sqrt "
    "of that is the standard deviation";
constexpr std::string_view correlation =
    "n: count(), mx: avg(x), my: avg(y), sx: stddev(x), sy: stddev(y), xy: sum(f64(x) * f64(y)), and in a map behind "
    "(xy - f64(n) * mx * my) / (f64(n - 1) * sx * sy); f64(n - 1) as the last divisor alone gives the covariance";

constexpr other_name other_aggregates[] = {
    {"arg_max", row_of_largest},
    {"argmax", row_of_largest},
    {"max_by", row_of_largest},
    {"idxmax", row_of_largest},
    {"arg_min", row_of_largest},
    {"argmin", row_of_largest},
    {"min_by", row_of_largest},
    {"idxmin", row_of_largest},
    {"mode", most_frequent},
    {"most_common", most_frequent},
    {"string_agg", joined_texts},
    {"group_concat", joined_texts},
    {"listagg", joined_texts},
    {"array_agg", joined_texts},
    {"collect_list", joined_texts},
    {"var_pop", of_population},
    {"stddev_pop", of_population},
    {"stdevp", of_population},
    {"varp", of_population},
    {"corr", correlation},
    {"covar_samp", correlation},
    {"covar_pop", correlation},
    {"any", "first(x); count(condition) > 0, in a map behind, says whether a condition holds for any"},
    {"some", "count(condition), and in a map behind n > 0"},
    {"every", "count(not condition), and in a map behind n == 0"},
    {"all", "count(not condition), and in a map behind n == 0"},
    {"bool_or", "count(condition), and in a map behind n > 0"},
    {"bool_and", "count(not condition), and in a map behind n == 0"},
    {"percentile_disc", "approx_quantile(x, 0.9), exact for up to 4,096 values"},
    {"approx_quantiles", "approx_quantile(x, 0.9), one for each quantile"},
    {"approx_median", "approx_quantile(x, 0.5), exact for up to 4,096 values"},
    {"sumif", "sum(if(condition, x, 0))"},
    {"sum_if", "sum(if(condition, x, 0))"},
    {"avgif", "sum(if(condition, x, 0)) and count(condition), and in a map behind their quotient"},
    {"avg_if", "sum(if(condition, x, 0)) and count(condition), and in a map behind their quotient"},

    {"mean", "avg(x)"},
    {"average", "avg(x)"},
    {"std", "stddev(x)"},
    {"stdev", "stddev(x)"},
    {"stddev_samp", "stddev(x)"},
    {"var", "variance(x)"},
    {"var_samp", "variance(x)"},
    {"any_value", "first(x)"},
    {"first_value", "first(x)"},
    {"last_value", "last(x)"},
    {"median", "approx_quantile(x, 0.5), exact for up to 4,096 values; docs/how-to/groups.md has an exact one for all"},
    {"quantile", "approx_quantile(x, 0.9), exact for up to 4,096 values"},
    {"percentile", "approx_quantile(x, 0.9), exact for up to 4,096 values"},
    {"percentile_cont", "approx_quantile(x, 0.9), exact for up to 4,096 values"},
    {"quantile_cont", "approx_quantile(x, 0.9), exact for up to 4,096 values"},
    {"approx_percentile", "approx_quantile(x, 0.9)"},
    {"nunique",
     "count_distinct(x), or approx_count_distinct(x), which needs no sort and is exact for up to 384 values"},
    {"n_unique",
     "count_distinct(x), or approx_count_distinct(x), which needs no sort and is exact for up to 384 values"},
    {"n_distinct",
     "count_distinct(x), or approx_count_distinct(x), which needs no sort and is exact for up to 384 values"},
    {"uniq", "count_distinct(x), or approx_count_distinct(x), which needs no sort and is exact for up to 384 values"},
    {"count_if", "count(condition)"},
    {"countif", "count(condition)"},
};

constexpr other_name other_operators[] = {
    {"ilike", "lower(x) like 'a%'"},
    {"rlike", "regex_matches(x, pattern)"},
    {"regexp", "regex_matches(x, pattern)"},
    {"similar", "regex_matches(x, pattern)"},
    {"glob", "x like 'a%'"},
    {"isnull", "x == '' for a text, or is_nan(x) for a float: nothing else is missing"},
    {"xor", "a != b for conditions, a ^ b for bits"},
    {"mod", "a % b"},
    {"div", "a / b, which divides integers as integers"},
    {"contains", "contains(text, part)"},
    {"IN", "x in (a, b)"},
    {"LIKE", "x like 'a%'"},
    {"BETWEEN", "x between a and b"},
};

template <size_t Size>
std::string written_here(const other_name (&names)[Size], std::string_view name) {
  for (const other_name& o : names)
    if (o.name == name) return fmt::format("write {}", o.write);
  return {};
}

}  // namespace

std::string slice_elsewhere(const syntax& call) {
  const std::string function = in_small_letters(call.text);
  if (call.children.size() != 3 || call.children[0]->kind != syntax_kind::name ||
      (function != "substr" && function != "substring" && function != "mid"))
    return {};
  const syntax &from = *call.children[1], &length = *call.children[2];
  if (from.kind != syntax_kind::integer || length.kind != syntax_kind::integer || from.integer == 0) return {};
  const uint64_t begin = from.integer - 1;
  if (length.integer > UINT64_MAX - begin) return {};
  return fmt::format("write {}[{}:{}], where the first byte is number 0", call.children[0]->text, begin,
                     begin + length.integer);
}

std::string known_elsewhere(std::string_view function) { return written_here(others, function); }
std::string operator_known_elsewhere(std::string_view word) { return written_here(other_operators, word); }
std::string aggregate_known_elsewhere(std::string_view aggregate) { return written_here(other_aggregates, aggregate); }

}  // namespace flowrun::expr
