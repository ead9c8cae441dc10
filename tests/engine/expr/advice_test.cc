// Advice is accepted when it is followed: each hint of the checker, and what its words come to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/expr/aggregate.h"
#include "engine/expr/conversion.h"
#include "tests/engine/expr/program_harness.h"

namespace flowrun::expr {
namespace {

using ::testing::HasSubstr;

const record::row_type columns = testing::type_of({{"u", "u64"},
                                                   {"v", "u64"},
                                                   {"small", "u8"},
                                                   {"i", "i64"},
                                                   {"x", "f64"},
                                                   {"ok", "bool"},
                                                   {"yes", "bool"},
                                                   {"name", "string"},
                                                   {"text", "string"},
                                                   {"part", "string"},
                                                   {"key", "bytes[10]"}});

struct followed {
  std::string wrong, advice;
  std::vector<std::string> right;  // what following it gives
};

TEST(advice, is_accepted_when_followed) {
  const std::vector<followed> table = {
      {"u + i", "write i64(x) for the unsigned one or u64(x) for the signed one", {"i64(u) + i", "u + u64(i)"}},
      {"u / -2", "write i64(x) for the unsigned one", {"i64(u) / -2"}},
      {"i % 9223372036854775810", "write u64(x) for the signed one", {"u64(i) % 9223372036854775810"}},
      {"-u", "write -i64(x)", {"-i64(u)"}},
      {"u - v > 0", "write i64(a) - i64(b) for signed numbers, or compare a and b", {"i64(u) - i64(v) > 0", "u > v"}},
      {"0 >= u * 2 - small", "write i64(a) - i64(b)", {"0 >= i64(u * 2) - i64(small)"}},
      {"u - 5 > -1", "write i64(a) - i64(b)", {"i64(u) - 5 > -1", "u - 5 > 1", "u - 5 != 0", "i - 5 > 0"}},
      {"u - v between 0 and 9", "write i64(a) - i64(b)", {"i64(u) - i64(v) between 0 and 9"}},
      {"abs(small - u)", "write i64(a) - i64(b)", {"abs(i64(small) - i64(u))", "abs(i - i64(u))", "abs(u)"}},
      {"if(ok, u, i)", "write i64(x) for the unsigned one or u64(x)", {"if(ok, i64(u), i)", "if(ok, u, u64(i))"}},
      {"if(ok, -1, 9223372036854775810)", "write f64(x) for both", {"if(ok, f64(-1), f64(9223372036854775810))"}},
      {"if(ok, u, name)", "write string(x) for what is no text", {"if(ok, string(u), name)"}},
      {"if(ok, yes, name)", "write string(x) for what is no text", {"if(ok, string(yes), name)"}},
      {"max(u, ok)", "write u8(x) to count true as 1", {"max(u, u8(ok))"}},
      {"u64(10) - 47", "write i64(x) for signed numbers", {"i64(10) - 47", "i64(u64(10)) - 47"}},
      {"u64(18446744073709551615) + 1", "write f64(x)", {"f64(u64(18446744073709551615)) + 1"}},
      {"18446744073709551615 * 2", "write f64(x)", {"f64(18446744073709551615) * 2"}},
      {"-u64(18446744073709551615)", "write -f64(x)", {"-f64(u64(18446744073709551615))"}},
      {"u8(300)", "write 44 for its low 8 bits", {"u8(44)"}},
      {"u64(-1)", "write 18446744073709551615 for its low 64 bits", {"u64(18446744073709551615)"}},
      {"i8(200)", "write -56 for its low 8 bits", {"i8(-56)"}},
      {"i16(1e9)", "write 32767 for the number next to it", {"i16(32767)"}},
      {"f32(1e300)", "write f64(x)", {"f64(1e300)"}},
      {"ok + u", "write u8(x) to count true as 1", {"u8(ok) + u"}},
      {"name - 1",
       "write to_u64(x), to_i64(x) or to_f64(x)",
       {"to_u64(name) - 1", "to_i64(name) - 1", "to_f64(name) - 1"}},
      {"name & 1", "write to_u64(x) or to_i64(x)", {"to_u64(name) & 1", "to_i64(name) & 1"}},
      {"x << 1", "write u64(x) or i64(x)", {"u64(x) << 1", "i64(x) << 1"}},
      {"name + 1", "write concat(a, b) to join texts", {"concat(name, 1)"}},
      {"ok & yes", "write a and b", {"ok and yes"}},
      {"ok | yes", "write a or b", {"ok or yes"}},
      {"ok ^ yes", "write a != b", {"ok != yes"}},
      {"ok & u", "write u8(x) to count true as 1", {"u8(ok) & u"}},
      {"~ok", "write not x", {"not ok"}},
      {"u and ok", "write x != 0", {"u != 0 and ok"}},
      {"not name", "write x == 'text'", {"not name == 'text'"}},
      {"u == name",
       "write to_u64(text) to compare numbers, or string(number)",
       {"u == to_u64(name)", "string(u) == name"}},
      {"ok == u", "write (x != 0)", {"ok == (u != 0)"}},
      {"ok < name", "write (x == 'true')", {"ok < (name == 'true')"}},
      {"key[u:4]", "write string(x)[a:b]", {"string(key)[u:4]"}},
      {"q.name", "write name alone", {"name"}},
      {"u8(name)", "write u8(to_u64(x)) to read it", {"u8(to_u64(name))"}},
      {"i64(key)", "write to_i64(x) to read it", {"to_i64(key)"}},
      {"f32(name)", "write f32(to_f64(x)) to read it", {"f32(to_f64(name))"}},
      {"bool(name)", "write x == 'true' to read it", {"name == 'true'"}},
      {"sqrt(name)", "write to_f64(x)", {"sqrt(to_f64(name))"}},
      {"abs(ok)", "write u8(x)", {"abs(u8(ok))"}},
      {"popcount(name)",
       "write to_u64(text), or hash64(1, text)",
       {"popcount(to_u64(name))", "popcount(hash64(1, name))"}},
      {"popcount(x)", "write u64(x)", {"popcount(u64(x))"}},
      {"rand(1, ok)", "write u64(x)", {"rand(1, u64(ok))"}},
      {"length(u)", "write string(x)", {"length(string(u))"}},
      {"1 < u < 3", "write a < b and b < c", {"1 < u and u < 3"}},
      {"u ** 2", "write x * x, or x << n", {"u * u", "u << 1"}},
      {"u // 2", "write /", {"u / 2"}},
      {"ok && yes", "write and", {"ok and yes"}},
      {"ok || yes", "write or", {"ok or yes"}},
      {"u <> v", "write !=", {"u != v"}},
      {"!ok", "write not", {"not ok"}},
      {"u = v", "write ==", {"u == v"}},
      {"ok ? 1 : 2", "write if(condition, a, b)", {"if(ok, 1, 2)"}},
      {"lenght(name)", "did you mean 'length'?", {"length(name)"}},
      {"len(name)", "write length(text)", {"length(text)"}},
      {"substr(name, 1, 2)", "write name[0:2], where the first byte is number 0", {"name[0:2]"}},
      {"substring(name, u, 2)", "write text[a:b], where a counts from 0", {"text[1:3]"}},
      {"median(u)", "an aggregate, in the 'let' of group", {"u"}},
      {"name like '10\\%'", "for like and for regular expressions: r'10\\%'", {"name like r'10\\%'"}},
      {"strip(name)", "write trim(text)", {"trim(text)"}},
      {"toupper(name)", "write upper(text)", {"upper(text)"}},
      {"startswith(name, 'a')", "write starts_with(text, part)", {"starts_with(text, part)"}},
      {"includes(name, 'a')", "write contains(text, part)", {"contains(text, part)"}},
      {"str(u)", "write string(x)", {"string(u)"}},
      {"int(u)", "write i64(x), or to_i64(x) for a text", {"i64(u)", "to_i64(name)"}},
      {"float(u)", "write f64(x), or to_f64(x) for a text", {"f64(u)", "to_f64(name)"}},
      {"iif(ok, 1, 2)", "write if(condition, a, b)", {"if(ok, 1, 2)"}},
      {"least(u, v)", "write min(a, b)", {"min(u, v)"}},
      {"ceiling(x)", "write ceil(x)", {"ceil(x)"}},
      {"mod(u, v)", "write a % b, or floor_mod(a, b)", {"u % v", "floor_mod(u, v)"}},
      {"power(u, 2)", "write pow(x, y)", {"pow(u, 2)"}},
      {"ln(x)", "write log(x)", {"log(x)"}},
      {"right(name, 2)",
       "write text[length(text) - min(n, length(text)):]",
       {"name[length(name) - min(2, length(name)):]"}},
      {"lpad(name, 5, '0')", "write pad_left(text, n, '0')", {"pad_left(name, 5, '0')"}},
      {"ltrim(name)", "write trim_left(text)", {"trim_left(name)"}},
      {"strpos(name, 'a')", "write find(text, part)", {"find(name, 'a')"}},
      {"regexp_matches(name, 'a')", "did you mean 'regex_matches'?", {"regex_matches(name, 'a')"}},
      {"regexp_extract(name, 'a')", "did you mean 'regex_extract'?", {"regex_extract(name, 'a')"}},
      {"regexp_replace(name, 'a', 'b')", "did you mean 'regex_replace'?", {"regex_replace(name, 'a', 'b')"}},
      {"like(name, 'a%')", "write text like 'a%'", {"name like 'a%'"}},
      {"name ilike 'a%'", "write lower(x) like 'a%'", {"lower(name) like 'a%'"}},
      {"name rlike 'a'", "write regex_matches(x, pattern)", {"regex_matches(name, 'a')"}},
      {"u IN (1, 2)", "write x in (a, b)", {"u in (1, 2)"}},
      {"isin(u, 1)", "write x in (a, b)", {"u in (1, 2)"}},
      {"between(u, 1, 2)", "write x between a and b", {"u between 1 and 2"}},
      {"name like r'a\\b'", "in r'10\\%' a backslash is itself", {"name like r'10\\%'", "name like '10\\\\%'"}},
      {"coalesce(u, v)", "write if(x != 0, x, y)", {"if(u != 0, u, v)"}},
      {"coalesce(key, key)", "write coalesce(string(a), b)", {"coalesce(string(key), key)"}},
      {"nullif(u, 0)", "write nullif(f64(x), y)", {"nullif(f64(u), 0)"}},
      {"floor_div(u, i)", "write i64(x) for the unsigned one", {"floor_div(i64(u), i)"}},
      {"hex(i)", "write hex(u64(x))", {"hex(u64(i))"}},
      {"find(u, 'a')", "write string(x)", {"find(string(u), 'a')"}},
      {"split_part(name, ',', x)", "write i64(x)", {"split_part(name, ',', i64(x))"}},
      {"regex_matches(name, '\\d')", "in r'…' a backslash is itself", {"regex_matches(name, r'\\d')"}},
      {"random()", "write rand_f64(1, i), or rand(1, i)", {"rand_f64(1, i)", "rand(1, i)"}},
      {"hash(u)", "write hash64(1, x)", {"hash64(1, u)"}},
      {"isnull(name)", "write x == '' for a text, or is_nan(x)", {"name == ''", "is_nan(x)"}},
  };
  const scope names{.row = &columns};
  for (const followed& f : table) {
    const compiled refused = compile(f.wrong, names);
    ASSERT_FALSE(refused.value.has_value()) << f.wrong;
    EXPECT_THAT(refused.problems.at(0).hint, HasSubstr(f.advice)) << f.wrong;
    for (const std::string& text : f.right) {
      const compiled accepted = compile(text, names);
      EXPECT_TRUE(accepted.value.has_value())
          << f.wrong << ": " << text << " is refused: " << accepted.problems.at(0).message;
    }
  }
}

// Behind the name of a node, a column of the same name is not what was meant.
TEST(advice, on_values_of_nodes) {
  scope names{.row = &columns};
  names.is_node = [](const std::string& name) { return name == "t"; };
  const auto hint = [&](const std::string& text) { return compile(text, names).problems.at(0).hint; };
  const std::string as_scalar = "scalars: t beside in: names the values of a node that gives one row";
  EXPECT_EQ(hint("u > t.u"), as_scalar);
  EXPECT_EQ(hint("u > t.something"), as_scalar);
  EXPECT_EQ(hint("u > t.nam"), as_scalar);
  EXPECT_EQ(hint("u > q.u"), "write u alone");
}

TEST(advice, of_aggregates_is_accepted) {
  const scope names{.row = &columns};
  const auto hint = [&](const std::string& text) { return compile_aggregate(text, names).problems.at(0).hint; };
  const auto accepted = [&](const std::string& text) { return compile_aggregate(text, names).value.has_value(); };
  EXPECT_THAT(hint("sum(ok)"), HasSubstr("count(x)"));
  EXPECT_TRUE(accepted("count(ok)"));
  EXPECT_THAT(hint("sum(name)"), HasSubstr("sum(to_f64(name))"));
  EXPECT_TRUE(accepted("sum(to_f64(name))"));
  EXPECT_THAT(hint("u"), HasSubstr("first(u)"));
  EXPECT_TRUE(accepted("first(u)"));
  EXPECT_THAT(hint("sum(u, ok and v > 1)"), HasSubstr("write sum(if(ok and v > 1, u, 0))"));
  EXPECT_TRUE(accepted("sum(if(ok and v > 1, u, 0))"));
  EXPECT_THAT(hint("any_value(u)"), HasSubstr("first(x)"));
}

// From each type to each: what is advised has the type wanted.
TEST(advice, of_conversions_gives_the_type) {
  std::vector<record::column> all;
  for (const char* name : {"bool", "u8", "u16", "u24", "u32", "u40", "u48", "u64", "i8", "i16", "i32", "i64", "f32",
                           "f64", "string", "bytes[2]", "bytes[9]", "date", "timestamp"})
    all.push_back({"c" + std::to_string(all.size()), record::parse_value_type(name).value()});
  const record::row_type type(all);
  size_t none = 0;
  for (const record::column& from : type.columns())
    for (const record::column& to : type.columns()) {
      const std::string text = converted_text(from.name, from.type, to.type);
      none += text.empty() ? 1 : 0;
      if (text.empty()) continue;
      EXPECT_EQ(testing::compiled_ok(text, scope{.row = &type}).type(), to.type) << text;
    }
  EXPECT_EQ(none, 17u * 2 + 1 + 4)
      << "no way leads to bytes[N], but from longer ones, and none from bool to times and back";
  // Keys of two inputs.
  EXPECT_EQ(one_type_of("k", all[7].type, "r", all[14].type).columns, "k: string(k)");
  EXPECT_EQ(one_type_of("k", all[14].type, "r", all[7].type).columns, "r: string(r)");
  EXPECT_EQ(one_type_of("k", all[15].type, "r", all[7].type).columns, "k: to_u64(k)");
  // What would cut values, and find keys that aren't equal, is no advice where there is another.
  const auto named = [](const char* name) { return record::parse_value_type(name).value(); };
  EXPECT_EQ(one_type_of("k", named("u32"), "r", named("u64")).columns, "k: u64(k)");
  EXPECT_EQ(one_type_of("k", named("u64"), "r", named("u32")).columns, "r: u64(r)");
  EXPECT_EQ(one_type_of("k", named("i64"), "r", named("u32")).columns, "r: i64(r)");
  EXPECT_EQ(one_type_of("k", named("i32"), "r", named("u32")).columns, "k: i64(k), and r: i64(r)");
  EXPECT_EQ(one_type_of("k", named("u16"), "r", named("f64")).columns, "k: f64(k)");
  EXPECT_EQ(one_type_of("k", named("decimal[2]"), "r", named("decimal[3]")).columns, "k: to_decimal(k, 3)");
  EXPECT_EQ(one_type_of("k", named("date"), "r", named("timestamp")).columns, "k: to_timestamp(k)");
  EXPECT_EQ(one_type_of("k", all[15].type, "r", all[16].type).columns, "k: string(k), and r: string(r)");
}

TEST(advice, of_a_constant_that_does_not_fit_is_its_range) {
  const problem p = conversion_problem(testing::compiled_ok("300", {}), record::value_type::of(record::type_kind::u8));
  EXPECT_EQ(p.message, "300 does not fit in u8");
  EXPECT_EQ(p.expected, "0 to 255");
  const problem other =
      conversion_problem(testing::compiled_ok("'a'", {}), record::value_type::of(record::type_kind::i32));
  EXPECT_EQ(other.hint, "write i32(to_i64('a'))");
}

}  // namespace
}  // namespace flowrun::expr
