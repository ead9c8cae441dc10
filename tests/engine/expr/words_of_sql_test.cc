// What SQL and pandas write, what is said about it, and that what is said is accepted when it is followed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/expr/aggregate.h"
#include "engine/expr/words_of_sql.h"
#include "tests/engine/expr/program_harness.h"

namespace flowrun::expr {
namespace {

const record::row_type columns = testing::type_of({{"id", "u64"},
                                                   {"x", "f64"},
                                                   {"country", "string"},
                                                   {"name", "string"},
                                                   {"d", "date"},
                                                   {"t", "timestamp"},
                                                   {"x_missing", "bool"},
                                                   {"key", "bytes[4]"},
                                                   {"wide", "bytes[64]"}});

struct followed {
  std::string wrong, advice;
  std::vector<std::string> right;
};

void expect_followed(const std::vector<followed>& table) {
  const scope names{.row = &columns};
  for (const followed& f : table) {
    const compiled refused = compile(f.wrong, names);
    ASSERT_FALSE(refused.value.has_value()) << f.wrong;
    ASSERT_EQ(refused.problems.size(), 1U) << f.wrong;
    EXPECT_EQ(refused.problems[0].hint, f.advice) << f.wrong;
    for (const std::string& text : f.right) testing::compiled_ok(text, names);
  }
}

TEST(words_of_sql, are_answered_with_what_does_their_work) {
  const std::string several = "write if(condition, a, b); for more cases if(first, a, if(second, b, c))";
  const std::string no_null =
      "nothing is null here: where 'x' is read, null_values: [\"\"] and missing: {x: x_missing} add a column that "
      "tells; "
      "then write ";
  const std::string page = " (docs/how-to/missing-values.md)";
  expect_followed({
      {"CASE WHEN id > 1 THEN 'a' ELSE 'b' END", "write if(id > 1, 'a', 'b')", {"if(id > 1, 'a', 'b')"}},
      {"case when id > 1 then 1 when id > 0 then 2 else 3 end",
       "write if(id > 1, 1, if(id > 0, 2, 3))",
       {"if(id > 1, 1, if(id > 0, 2, 3))"}},
      {"CASE country WHEN 'DE' THEN 1 WHEN 'FR' THEN 2 ELSE 0 END",
       "write if(country == 'DE', 1, if(country == 'FR', 2, 0))",
       {"if(country == 'DE', 1, if(country == 'FR', 2, 0))"}},
      {"case when id > 1 then 2 end", several, {"if(id > 1, 2, 0)"}},
      {"case when id > 1 then case when id > 2 then 1 else 2 end else 3 end", several, {}},
      {"1 + CASE WHEN id > 1 THEN 1 ELSE 0 END", "write if(id > 1, 1, 0)", {"1 + if(id > 1, 1, 0)"}},
      {"case", "", {}},
      {"id is distinct from 3", "write x != y", {"id != 3"}},
      {"id is not distinct from 3", "write x == y", {"id == 3"}},
      {"(id + 1)::int", "write i64((id + 1)), or to_i64((id + 1)) for a text", {"i64((id + 1))"}},
      {"country[0:3]::date", "write to_date(country[0:3])", {"to_date(country[0:3])"}},
      {"lower(trim(country))::text", "write string(lower(trim(country)))", {"string(lower(trim(country)))"}},
      {"x IS NULL", no_null + "x_missing" + page, {"x_missing"}},
      {"x is not null", no_null + "not x_missing" + page, {"not x_missing"}},
      {"x == null", no_null + "x_missing" + page, {"x_missing"}},
      {"None != x", no_null + "not x_missing" + page, {"not x_missing"}},
      {"x isnull", no_null + "x_missing" + page, {"x_missing"}},
      {"x is 3", "write x == y", {"x == 3"}},
      {"id == 1 AND x > 2", "write and, in small letters", {"id == 1 and x > 2"}},
      {"id == 1 OR x > 2", "write or, in small letters", {"id == 1 or x > 2"}},
      {"NOT id == 1", "write not, in small letters", {"not id == 1"}},
      {"NOT (id == 1)", "write not, in small letters", {"not (id == 1)"}},
      {"country desc", "write -country for falling order", {}},
      {"country ASC", "write country alone: rising order needs no word", {"country"}},
      {"cast(id as f64)", "write f64(id)", {"f64(id)"}},
      {"CAST(id + 1 AS INTEGER)", "write i64(id + 1), or to_i64(id + 1) for a text", {"i64(id + 1)"}},
      {"cast(country as double)", "write f64(country), or to_f64(country) for a text", {"to_f64(country)"}},
      {"cast(x as varchar)", "write string(x)", {"string(x)"}},
      {"cast(country as decimal(10, 3))", "write to_decimal(country, 3)", {"to_decimal(country, 3)"}},
      {"cast(country as date)", "write to_date(country)", {"to_date(country)"}},
      {"cast(country as timestamp)", "write to_timestamp(country)", {"to_timestamp(country)"}},
      {"cast(id as boolean)", "write bool(id) for a number, id == 'true' for a text", {"bool(id)"}},
      {"id::f64", "write f64(id)", {"f64(id)"}},
      {"extract(year from d)", "write year(d)", {"year(d)"}},
      {"EXTRACT(DOW FROM t)", "write weekday(t)", {"weekday(t)"}},
      {"extract('year', d)",
       "write year(t), month(t), day(t), hour(t) and so on of a time, or regex_extract(text, pattern)",
       {"year(d)"}},
      {"d + interval '1' day", "write date_add('day', 1, d)", {"date_add('day', 1, d)"}},
      {"t - INTERVAL '2 hours'", "write date_add('hour', -2, t)", {"date_add('hour', -2, t)"}},
      {"t + interval 3 month", "write date_add('month', 3, t)", {"date_add('month', 3, t)"}},
      {"t + interval 'x'", "write date_add('day', n, t), where n may be below 0", {"date_add('day', -1, t)"}},
      {"substring(country from 1 for 3)",
       "write text[a:b], which counts from 0: x[0:3] for substring(x from 1 for 3)",
       {"country[0:3]"}},
      {"trim(leading from country)", "write trim(x), trim_left(x) or trim_right(x)", {"trim_left(country)"}},
      {"trim(both ' ' from country)", "write trim(x), trim_left(x) or trim_right(x)", {"trim(country)"}},
      {"country || 'x'", "write or between conditions, concat(a, b) to join texts", {"concat(country, 'x')"}},
      {"country LIMIT 10", "an expression chooses no rows: a limit node does, op: limit, with: {count: 10}", {}},
      {"id from a", "an expression has no FROM: it computes from the columns of the node's input, in: NODE", {}},
      {"x as y", "the name comes first, in a map: {name: expression}", {}},
      {"UPPER(country)", "write upper, in small letters", {"upper(country)"}},
      {"LEN(country)", "write length(text)", {"length(country)"}},
  });
}

TEST(words_of_sql, of_a_text_without_quotes) {
  expect_followed({{"country == DE", "a text needs quotes: 'DE'", {"country == 'DE'"}},
                   {"DE != country", "a text needs quotes: 'DE'", {"'DE' != country"}},
                   {"country == nane", "did you mean 'name'?", {"country == name"}},
                   {"id == DE", "", {}},
                   {"key == ABCD", "a text needs quotes: 'ABCD'", {"key == 'ABCD'"}}});
}

TEST(words_of_sql, of_functions_that_are_none_here) {
  const std::string day =
      "write params.today, with params: {today: {type: date}} in the job and -p today=$(date +%F) in the command: a "
      "result depends on the input alone";
  expect_followed({
      {"char_length(country)",
       "write length(regex_replace(text, '(?s).', 'x')): length(text) alone counts the bytes",
       {"length(regex_replace(country, '(?s).', 'x'))"}},
      {"repeat(country, 3)",
       "write replace(pad_left('', n, '-'), '-', text)",
       {"replace(pad_left('', 3, '-'), '-', country)"}},
      {"time_bucket(900, t)",
       "write date_trunc('hour', t), or for 15 minutes, which are 900,000,000 microseconds, "
       "to_timestamp(floor_div(to_i64(t), 900000000) * 900000000)",
       {"to_timestamp(floor_div(to_i64(t), 900000000) * 900000000)"}},
      {"md5(country)",
       "write hash64(1, x), or crc32(text): these are for no secrets, and there is no other digest",
       {"hash64(1, country)", "crc32(country)"}},
      {"url_decode(country)",
       "write replace(text, '%20', ' '), and the same for each other code that the texts have: no function decodes all",
       {"replace(country, '%20', ' ')"}},
      {"REVERSE(country)",
       "write text[length(text) - n:], ends_with(text, part) or split_part(text, separator, -1) for what is at the "
       "end: no function turns a text round",
       {"country[length(country) - 2:]", "split_part(country, '.', -1)"}},
      {"sin(x)", "write a function of a plugin of your own (docs/plugins.md): the language has no trigonometry", {}},
      {"pi()", "write 3.141592653589793", {"3.141592653589793"}},
      {"current_date()", day, {}},
      {"CURRENT_DATE", day, {}},
  });
}

TEST(words_of_sql, that_are_asked_about_alone) {
  EXPECT_EQ(word_known_elsewhere("collate"), "texts are compared byte by byte; lower(x) makes letters small");
  EXPECT_THAT(word_known_elsewhere("null"), ::testing::HasSubstr("then write x_missing"));
  EXPECT_THAT(word_known_elsewhere("notnull"), ::testing::HasSubstr("then write not x_missing"));
  EXPECT_EQ(word_known_elsewhere("desc"), "write -x for falling order");
  EXPECT_EQ(word_known_elsewhere("frobnicate"), "");
}

TEST(words_of_sql, where_aggregates_stand) {
  const scope names{.row = &columns};
  const auto hint = [&](const std::string& text) { return compile_aggregate(text, names).problems.at(0).hint; };
  EXPECT_EQ(hint("count(*)"), "write count()");
  EXPECT_EQ(hint("COUNT(id)"), "write count()");
  EXPECT_EQ(hint("SUM(id)"), "write sum, in small letters");
  EXPECT_EQ(hint("Mean(id)"), "write avg(x)");
  EXPECT_THAT(hint("count(distinct id)"), ::testing::HasSubstr("count_distinct(x)"));
}

TEST(words_of_sql, no_broken_text_is_too_odd) {
  const scope names{.row = &columns};
  for (const std::string head : {"", "case", "cast(", "extract(", "interval", "count(", "(", "x is", "not"})
    for (const std::string tail : {"", " when", " as", " from", " null", " 'x'", " *", " desc", "::", " interval", ")"})
      compile(head + tail, names);
}

TEST(literal_length, never_equals_another_one) {
  expect_followed({
      {"key == 'ab'",
       "for a value padded with zero bytes write 'ab\\0\\0', for one with blanks trim_right(x) == 'ab'",
       {"key == 'ab\\0\\0'", "trim_right(key) == 'ab'"}},
      {"'' != key",
       "for a value padded with zero bytes write '\\0\\0\\0\\0', for one with blanks trim_right(x) != ''",
       {"key != '\\0\\0\\0\\0'"}},
      {"key == 'abcdef'", "to ask for the first 4 bytes, write 'abcd'", {"key == 'abcd'"}},
      {"(id, key) == (1, 'a')",
       "for a value padded with zero bytes write 'a\\0\\0\\0', for one with blanks trim_right(x) == 'a'",
       {"(id, key) == (1, 'a\\0\\0\\0')"}},
      {"key in ('abcd', 'ab')",
       "for a value padded with zero bytes write 'ab\\0\\0', for one with blanks trim_right(x) == 'ab'",
       {"key in ('abcd', 'ab\\0\\0')"}},
      {"wide == 'ab'",
       "for a value padded with zero bytes write starts_with(x, 'ab\\0'), for one with blanks trim_right(x) == 'ab'",
       {"starts_with(wide, 'ab\\0')", "trim_right(wide) == 'ab'"}},
  });
  const scope names{.row = &columns};
  for (const std::string fine :
       {"key == 'abcd'", "key < 'ab'", "key == country", "key == name[0:2]", "country == 'ab'"})
    testing::compiled_ok(fine, names);
  expect_followed({{"true == key",
                    "write (string(x) == 'true') to read a condition from a text",
                    {"true == (string(key) == 'true')"}},
                   {"bool(key)", "write string(x) == 'true' to read it from a text", {"string(key) == 'true'"}}});
  const problem p = compile("key == 'ab'", names).problems.at(0);
  EXPECT_EQ(p.message, "a text of 2 bytes never equals one of 4, which bytes[4] holds");
  EXPECT_EQ(p.expected, "a text of 4 bytes");
  EXPECT_EQ(p.offset, 7U);
}

}  // namespace
}  // namespace flowrun::expr
