// Grammar, types and faults: what a text means and what is said about a wrong one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "engine/expr/aggregate.h"
#include "engine/expr/expression.h"
#include "engine/expr/functions.h"
#include "tests/engine/expr/program_harness.h"

namespace flowrun::expr {
namespace {

using ::testing::HasSubstr;

const record::row_type columns = testing::type_of({{"src", "u64"},
                                                   {"dst", "u64"},
                                                   {"small", "u32"},
                                                   {"mid", "u40"},
                                                   {"signed64", "i64"},
                                                   {"signed8", "i8"},
                                                   {"ratio", "f64"},
                                                   {"ratio32", "f32"},
                                                   {"ok", "bool"},
                                                   {"name", "string"},
                                                   {"key", "bytes[10]"}});

scope all_names() {
  scope names;
  names.row = &columns;
  names.row_number = true;
  names.before = 2;
  names.after = 1;
  return names;
}

std::string type_of_text(const std::string& text) { return to_string(testing::compiled_ok(text, all_names()).type()); }

TEST(expression_types, follow_the_rules) {
  const std::vector<std::pair<std::string, std::string>> table = {{"small", "u32"},
                                                                  {"mid", "u40"},
                                                                  {"u24(src)", "u24"},
                                                                  {"small + 1", "u64"},
                                                                  {"small + small", "u64"},
                                                                  {"signed8 + 1", "i64"},
                                                                  {"1 + signed8", "i64"},
                                                                  {"signed8 + small", "i64"},
                                                                  {"i64(src) + signed64", "i64"},
                                                                  {"src + 1", "u64"},
                                                                  {"small - 1", "u64"},
                                                                  {"signed8 + small", "i64"},
                                                                  {"mid + -5", "i64"},
                                                                  {"src + i64(5)", "u64"},
                                                                  {"signed64 + u64(5)", "i64"},
                                                                  {"min(src, signed64)", "i64"},
                                                                  {"max(src, signed64)", "u64"},
                                                                  {"max(mid, signed8)", "i64"},
                                                                  {"if(ok, src, 7)", "u64"},
                                                                  {"src * 1.5", "f64"},
                                                                  {"ratio32", "f32"},
                                                                  {"ratio32 + 1", "f64"},
                                                                  {"f32(src)", "f32"},
                                                                  {"-small", "i64"},
                                                                  {"-i64(src)", "i64"},
                                                                  {"10 - 47", "i64"},
                                                                  {"10 - 7", "u64"},
                                                                  {"min(10, 11) - 47", "i64"},
                                                                  {"abs(-5)", "u64"},
                                                                  {"-5", "i64"},
                                                                  {"5", "u64"},
                                                                  {"1 - 2", "i64"},
                                                                  {"~src", "u64"},
                                                                  {"~signed8", "i64"},
                                                                  {"src << signed64", "u64"},
                                                                  {"signed8 >> 1", "i64"},
                                                                  {"src == dst", "bool"},
                                                                  {"(src, name) < (dst, 'x')", "bool"},
                                                                  {"not ok", "bool"},
                                                                  {"if(ok, small, small)", "u32"},
                                                                  {"if(ok, small, src)", "u64"},
                                                                  {"if(ok, signed8, small)", "i64"},
                                                                  {"if(ok, 1, signed8)", "i64"},
                                                                  {"if(ok, 1, ratio)", "f64"},
                                                                  {"if(ok, name, key)", "string"},
                                                                  {"if(ok, key, key)", "bytes[10]"},
                                                                  {"if(ok, key, '0123456789')", "bytes[10]"},
                                                                  {"if(ok, '0123456789', key)", "bytes[10]"},
                                                                  {"if(ok, key, '012345678')", "string"},
                                                                  {"if(ok, key, string('0123456789'))", "string"},
                                                                  {"if(true, '0123456789', key)[1:3]", "bytes[2]"},
                                                                  {"if(ok, name, '0123456789')", "string"},
                                                                  {"if(ok, 'a', 'b')", "string"},
                                                                  {"min(key, '0123456789')", "bytes[10]"},
                                                                  {"key[0:4]", "bytes[4]"},
                                                                  {"key[:4]", "bytes[4]"},
                                                                  {"key[6:]", "bytes[4]"},
                                                                  {"key[1:8][2:4]", "bytes[2]"},
                                                                  {"name[2:4]", "string"},
                                                                  {"name[0]", "u8"},
                                                                  {"min(small, 3)", "u64"},
                                                                  {"max(small, small)", "u32"},
                                                                  {"abs(signed8)", "i64"},
                                                                  {"abs(small)", "u64"},
                                                                  {"abs(ratio32)", "f64"},
                                                                  {"length(name)", "u64"},
                                                                  {"concat(name, src)", "string"},
                                                                  {"hash64(1, name, src, ratio)", "u64"},
                                                                  {"rand(1, row_number)", "u64"},
                                                                  {"rand_f64(1, row_number)", "f64"},
                                                                  {"crc32(key)", "u32"},
                                                                  {"fields(name, '2,2')", "string"},
                                                                  {"fields(key, '1.2', ',')", "string"},
                                                                  {"keep(key, '0-9')", "string"},
                                                                  {"decimal_key(name)", "string"},
                                                                  {"size_key(key)", "string"},
                                                                  {"real_key(name)", "string"},
                                                                  {"month(name)", "u8"},
                                                                  {"row[-1].name", "string"},
                                                                  {"row[1].small", "u32"},
                                                                  {"row[0].mid", "u40"},
                                                                  {"string(key)", "string"},
                                                                  {"'text'", "string"},
                                                                  {"0x1f", "u64"},
                                                                  {"1_000", "u64"},
                                                                  {"2.5e3", "f64"},
                                                                  {".5", "f64"},
                                                                  {"true", "bool"}};
  for (const auto& [text, type] : table) EXPECT_EQ(type_of_text(text), type) << text;
}

TEST(expression_parser, binds_like_python) {
  const std::vector<std::pair<std::string, std::string>> same_value = {
      {"2 + 3 * 4", "14"},
      {"(2 + 3) * 4", "20"},
      {"10 - 3 - 2", "5"},
      {"100 / 10 / 5", "2"},
      {"1 << 2 + 1", "8"},
      {"6 & 3 << 1", "6"},
      {"1 | 6 ^ 2 & 3", "5"},
      {"7 % 4 * 2", "6"},
      {"-2 * 3", "0 - 6"},
      {"~0 & 15", "15"},
      {"- - 5", "5"},
      {"if(1 + 1 == 2 and not 1 == 2 or false, 1, 0)", "1"},
      {"if(not true or true, 1, 0)", "1"},
      {"if(true or true and false, 1, 0)", "1"},
      {"if(1 | 2 == 3, 1, 0)", "1"},
      {"0b1010 + 0xF + 1_0", "35"},
      {"'\\x41\\n\\'\\\\'", "\"A\\x0a'\\x5c\""}};
  for (const auto& [text, value] : same_value)
    EXPECT_EQ(testing::show(testing::evaluate_constant(text)), testing::show(testing::evaluate_constant(value)))
        << text;
}

struct wrong {
  std::string text;
  size_t offset;
  std::string message;
  std::string advice;  // in expected or hint
};

TEST(expression_faults, say_where_and_what_to_do) {
  const std::vector<wrong> table = {
      {"", 0, "empty", "an expression"},
      {"   ", 3, "empty", ""},
      {"src +", 5, "ends too early", "a value"},
      {"(src", 0, "no ')' closes this", "')'"},
      {"src)", 3, "unexpected ')'", "operator or the end"},
      {"src dst", 4, "unexpected 'dst'", ""},
      {"1 < src < 3", 8, "can't be chained", "and"},
      {"src = dst", 4, "unknown operator '='", "write =="},
      {"src && dst", 4, "unknown operator '&&'", "write and"},
      {"src || dst", 4, "unknown operator '||'", "write or"},
      {"!ok", 0, "unknown operator '!'", "write not"},
      {"src ** 2", 4, "no operator '**'", "x * x"},
      {"src // 2", 4, "no operator '//'", "write /"},
      {"ok ? 1 : 2", 3, "unexpected '?'", "if(condition"},
      {"'abc", 0, "text literal without its end", "closing '"},
      {"'a\\q'", 2, "unknown escape", "\\n"},
      {"'a\\x4'", 2, "\\x without", "\\x41"},
      {"12ab", 0, "'12ab' is not a number", "12"},
      {"1.2.3", 0, "'1.2.3' is not a number", ""},
      {"0x", 0, "'0x' is not a number", ""},
      {"010", 0, "starts with a zero", "0x"},
      {"18446744073709551616", 0, "does not fit in 64 bits", "18446744073709551615"},
      {"1e999", 0, "out of the range of f64", ""},
      {"-9223372036854775809", 0, "does not fit in i64", "-9223372036854775808 to"},
      {"18446744073709551615 + 1", 21, "18446744073709551615 + 1 does not fit in 64 bits", "f64(x)"},
      {"9223372036854775807 * -9223372036854775807", 20, "does not fit in 64 bits", ""},
      {"3 << 63", 2, "3 << 63 does not fit in 64 bits", "u64(3) << 63"},
      {"1 << 63 << 1", 8, "9223372036854775808 << 1 does not fit in 64 bits", "u64(9223372036854775808) << 1"},
      {"-3 << 62", 3, "-3 << 62 does not fit in 64 bits", "i64(-3) << 62"},
      {"0 - 9223372036854775807 - 2", 24, "does not fit in 64 bits", ""},
      {"u64(10) - 47", 8, "10 - 47 is -37, which u64 does not hold", "i64(x)"},
      {"u8(1) - 2", 6, "1 - 2 is -1, which u64 does not hold", "i64(x)"},
      {"i64(9223372036854775807) + 1", 25, "which i64 does not hold", "f64(x)"},
      {"u64(18446744073709551615) * 3", 26, "which u64 does not hold", "f64(x)"},
      {"src + signed64", 4, "'+' of u64 and i64: no integer type holds both", "i64(x)"},
      {"signed8 / src", 8, "'/' of i8 and u64", "u64(x)"},
      {"signed64 % 9223372036854775810", 9, "'%' of i64 and u64", "u64(x) for the signed one"},
      {"src & -1", 4, "'&' of u64 and i64", "i64(x) for the unsigned one"},
      {"-src", 0, "'-' of u64", "-i64(x)"},
      {"if(ok, src, signed8)", 12, "u64 and i8 have no common type", "i64(x)"},
      {"if(ok, -1, src)", 11, "i64 and u64 have no common type", "i64(x)"},
      {"if(ok, -1, 9223372036854775810)", 11, "no common type", "f64(x) for both"},
      {"u8(300)", 3, "300 does not fit in u8", "write 44 for its low 8 bits"},
      {"u64(-1)", 4, "-1 does not fit in u64", "write 18446744073709551615 for"},
      {"i8(128)", 3, "128 does not fit in i8", "-128 to 127"},
      {"u16(1e6)", 4, "does not fit in u16", "write 65535"},
      {"u64(-0.0 - 1.5)", 4, "-1.5 does not fit in u64", "write 0"},
      {"i32(0.0 / 0)", 4, "nan does not fit in i32", ""},
      {"f32(1e300)", 4, "does not fit in f32", "f64(x)"},
      {"1 + srk", 4, "unknown column 'srk'", "did you mean 'src'?"},
      {"lenght(name)", 0, "unknown function 'lenght'", "did you mean 'length'?"},
      {"length", 0, "unknown column 'length'", "is a function"},
      {"sum(src)", 0, "is an aggregate", ""},
      {"length(name, name)", 0, "takes 1 argument, not 2", "length(text)"},
      {"min(src)", 0, "takes 2 or more arguments, not 1", ""},
      {"length(src)", 7, "this is u64", "string or bytes[N]"},
      {"src and ok", 0, "'and' needs bool, this is u64", "x != 0"},
      {"ok or name", 6, "'or' needs bool, this is string", "x == 'text'"},
      {"not src", 4, "'not' needs bool", "x != 0"},
      {"name + 'x'", 0, "'+' needs numbers, this is string", "concat(a, b)"},
      {"ok & ok", 0, "'&' needs integers, this is bool", "write a and b"},
      {"ratio & 1", 0, "'&' needs integers, this is f64", "u64(x)"},
      {"src + ok", 6, "'+' needs numbers, this is bool", "u8(x)"},
      {"src == name", 4, "u64 and string can't be compared", "to_u64(text)"},
      {"ok == 1", 3, "bool and u64 can't be compared", "x != 0"},
      {"if(src, 1, 2)", 3, "condition is u64", "x != 0"},
      {"if(ok, 1, name)", 10, "u64 and string have no common type", "string(x)"},
      {"min(name, 1)", 4, "string and u64 have no common type", "string(x)"},
      {"substr(name, 1)", 0, "unknown function 'substr'", "text[a:b]"},
      {"int(name)", 0, "unknown function 'int'", "to_i64(x)"},
      {"frobnicate(name)", 0, "unknown function 'frobnicate'", "flowrun ops expressions"},
      {"u8(name)", 3, "string can't become u8", "to_u64(x)"},
      {"(src, dst)", 0, "a tuple can only be compared", "(a, b) < (c, d)"},
      {"(src, dst) < src", 11, "a tuple can only be compared", ""},
      {"(src, dst) < (src, dst, 1)", 11, "a tuple of 2 can't be compared with one of 3", ""},
      {"(src, dst) < (src, name)", 19, "u64 and string can't be compared", ""},
      {"fields(name, '0')", 13, "'0' is no range of fields: fields are counted from 1", "'2,2'"},
      {"fields(name, '1.0')", 13, "bytes are counted from 1", "'2,2'"},
      {"fields(name, '')", 13, "a field's number is missing", "'2,2'"},
      {"fields(name, '2,')", 13, "a field's number is missing", "'2,2'"},
      {"fields(name, '2.')", 13, "a byte's number is missing behind '.'", "'2,2'"},
      {"fields(name, '2n')", 13, "'n' doesn't belong there", "'2,2'"},
      {"fields(name, name)", 13, "this is not a constant", "'2'"},
      {"fields(name, '2', ',,')", 18, "the separator has 2 bytes", "one byte"},
      {"fields(name, '2', name)", 18, "this is not a constant", "one byte"},
      {"fields(src, '2')", 7, "this is u64", "string(x)"},
      {"keep(name, name)", 11, "this is not a constant", "'a-z0-9'"},
      {"keep(name, '0-9z-a')", 11, "the range \"z-a\" is backwards", "ranges such as 'a-z'"},
      {"trim(name, 'b--')", 11, "the range \"b--\" is backwards", "a - of its own comes first or last"},
      {"decimal_key(src)", 12, "this is u64", "string(x)"},
      {"key[0:11]", 3, "slice [0:11] of bytes[10]", "<= 10"},
      {"key[4:4]", 3, "slice [4:4]", ""},
      {"key[src:4]", 3, "must be constants", "string(x)[a:b]"},
      {"name[-1:2]", 5, "a bound is below 0", ""},
      {"name[-1]", 5, "a position is below 0", "x[0]"},
      {"sign(src - dst)", 5, "a difference of unsigned numbers", "i64(a) - i64(b)"},
      {"max(0, src - dst)", 7, "a difference of unsigned numbers", "i64(a) - i64(b)"},
      {"src[0]", 0, "needs a text, this is u64", ""},
      {"row[-3].src", 0, "reaches beyond the window", "'before' larger"},
      {"row[2].src", 0, "reaches beyond the window", "'after' larger"},
      {"row[-1048577].src", 0, "reaches beyond the window", "at most 1,048,576 rows"},
      {"row[-1].scr", 8, "unknown column 'scr'", "did you mean 'src'?"},
      {"row[src].src", 4, "must be a constant", ""},
      {"row[-1]", 0, "needs a column", "row[-1].x"},
      {"row", 0, "needs a distance", "row[-1].x"},
      {"a.src", 2, "only row", "write src alone"},
      {"src @ 1", 4, "unexpected '@'", ""},
      {"${x}", 0, "unexpected '$'", "${name}"},
      {"src + \xc3\xa4", 6, "unexpected byte 0xc3", ""},
      {"1 + and", 4, "unexpected 'and'", "a value"},
  };
  for (const wrong& w : table) {
    const compiled c = compile(w.text, all_names());
    EXPECT_FALSE(c.value.has_value()) << w.text;
    if (c.problems.empty()) {
      ADD_FAILURE() << "no problem reported: " << w.text;
      continue;
    }
    const problem& p = c.problems[0];
    EXPECT_EQ(p.offset, w.offset) << w.text << " -> " << p.message;
    EXPECT_THAT(p.message, HasSubstr(w.message)) << w.text;
    EXPECT_THAT(p.expected + " | " + p.hint, HasSubstr(w.advice)) << w.text << " -> " << p.message;
  }
}

TEST(expression_faults, are_all_reported_at_once) {
  const compiled c = compile("lenght(name) + srk * if(src, 1, 2)", all_names());
  std::vector<size_t> offsets;
  for (const problem& p : c.problems) offsets.push_back(p.offset);
  EXPECT_EQ(offsets, (std::vector<size_t>{0, 15, 24}));
}

TEST(expression_faults, know_what_the_scope_lacks) {
  scope bare;
  EXPECT_THAT(compile("src", bare).problems.at(0).message, HasSubstr("unknown name 'src'"));
  EXPECT_THAT(compile("row_number", bare).problems.at(0).message, HasSubstr("not known here"));
  EXPECT_THAT(compile("row[-1].src", bare).problems.at(0).hint, HasSubstr("window"));
  EXPECT_THAT(compile_condition("1 + 1", bare).problems.at(0).hint, HasSubstr("x != 0"));
  EXPECT_TRUE(compile_condition("1 == 1", bare).value.has_value());
}

TEST(expression, tells_what_it_uses) {
  const expression column = testing::compiled_ok("(small)", all_names());
  EXPECT_EQ(column.as_column(), 2u);
  EXPECT_FALSE(testing::compiled_ok("u64(small)", all_names()).as_column().has_value());
  const auto slice = testing::compiled_ok("key[2:8][1:3]", all_names()).as_slice();
  ASSERT_TRUE(slice.has_value());
  EXPECT_EQ(slice->column, 10u);
  EXPECT_EQ(slice->from, 3u);
  EXPECT_EQ(slice->length, 2u);
  const expression mixed =
      testing::compiled_ok("dst + src * src + row[-1].mid - row[-1].mid + row_number", all_names());
  EXPECT_EQ(mixed.columns(), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(mixed.neighbours(), (std::vector<neighbour>{{"mid", -1}}));
  EXPECT_TRUE(mixed.uses_row_number());
  EXPECT_FALSE(mixed.is_constant());
  EXPECT_EQ(mixed.text(), "dst + src * src + row[-1].mid - row[-1].mid + row_number");
  EXPECT_EQ(testing::compiled_ok("3 * (4 + 1)", all_names()).constant_bits(), 15u);
  EXPECT_EQ(testing::compiled_ok("concat('a', upper('b'), 3, true)", all_names()).constant_text(), "aB3true");
}

TEST(expression, converts_without_a_cast_only_where_nothing_is_misread) {
  const auto can = [](const std::string& text, const std::string& type) {
    return testing::compiled_ok(text, all_names()).converted_to(*record::parse_value_type(type)).has_value();
  };
  EXPECT_TRUE(can("src", "u8"));
  EXPECT_TRUE(can("255", "u8"));
  EXPECT_FALSE(can("256", "u8"));
  EXPECT_FALSE(can("-1", "u64"));
  EXPECT_TRUE(can("i64(5)", "u64"));
  EXPECT_TRUE(can("1e300", "f64"));
  EXPECT_FALSE(can("1e300", "f32"));
  EXPECT_TRUE(can("src", "f32"));
  EXPECT_TRUE(can("key", "string"));
  EXPECT_TRUE(can("ratio", "f32"));
  EXPECT_FALSE(can("ratio", "u64"));
  EXPECT_FALSE(can("ok", "u8"));
  EXPECT_FALSE(can("name", "u64"));
  EXPECT_FALSE(can("src", "string"));
  EXPECT_FALSE(can("name", "bytes[10]"));
  EXPECT_TRUE(can("'abc'", "bytes[3]"));
  EXPECT_FALSE(can("'abc'", "bytes[4]"));
  EXPECT_FALSE(can("'abc'", "bytes[2]"));
  EXPECT_FALSE(can("string('abc')", "bytes[3]"));
  EXPECT_FALSE(can("'123'", "u32"));
}

TEST(sort_term, takes_one_sign) {
  const auto term = [](const std::string& text) { return compile_sort_term(text, all_names()); };
  EXPECT_TRUE(term("-name").value.value().descending);
  EXPECT_EQ(term("-name").value.value().value.as_column(), 9u);
  EXPECT_FALSE(term("+src").value.value().descending);
  EXPECT_FALSE(term("key[0:4]").value.value().descending);
  EXPECT_TRUE(term(" - (src + dst)").value.value().descending);
  EXPECT_FALSE(term("(-signed8) + mid").value.value().descending);
  EXPECT_TRUE(term("-(src)").value.value().descending);
  EXPECT_TRUE(term("-(src not in (1, 2))").value.value().descending);
  EXPECT_TRUE(term("-not (src in (1, 2))").value.value().descending);
  for (const char* const unclear : {"-src in (1, 2)", "-src not in (1, 2)", "-src between 1 and 2", " - src + dst",
                                    "-src % 10", "-(src) + dst", "+src * 2", "-5", "-2.5", "-src == dst"}) {
    const compiled_sort_term no = term(unclear);
    EXPECT_FALSE(no.value.has_value()) << unclear;
    EXPECT_EQ(no.problems.at(0).offset, std::string(unclear).find_first_of("+-")) << unclear;
  }
  EXPECT_EQ(term("-src % 10").problems.at(0).expected, "-(src % 10); or (-x) in parentheses where it is the sign of x");
  EXPECT_EQ(term("-srk").problems.at(0).offset, 1u);
  EXPECT_FALSE(term("-").value.has_value());
}

TEST(aggregate, has_kind_argument_and_type) {
  const auto ok = [](const std::string& text) { return compile_aggregate(text, all_names()).value.value(); };
  EXPECT_EQ(ok("count()").kind, aggregate_kind::count);
  EXPECT_FALSE(ok("count()").argument.has_value());
  EXPECT_EQ(to_string(ok("sum(small * 2)").result), "u64");
  EXPECT_EQ(ok("sum(small * 2)").argument->text(), "small * 2");
  EXPECT_EQ(to_string(ok("sum(signed8)").result), "i64");
  EXPECT_EQ(to_string(ok("sum(ratio32)").result), "f64");
  EXPECT_EQ(to_string(ok("min(mid)").result), "u40");
  EXPECT_EQ(to_string(ok("max(name)").result), "string");
  EXPECT_EQ(to_string(ok("first(key)").result), "bytes[10]");
  EXPECT_EQ(ok("last(ok)").kind, aggregate_kind::last);
}

TEST(aggregate, refuses_what_is_none) {
  const std::vector<wrong> table = {{"count", 0, "no aggregate", "count()"},
                                    {"src", 0, "no aggregate", "first(src)"},
                                    {"sum(src) + 1", 0, "no aggregate", "in a map behind"},
                                    {"summ(src)", 0, "unknown aggregate", "did you mean 'sum'?"},
                                    {"count(src)", 6, "count: this is u64", "a condition"},
                                    {"sum()", 0, "1 argument, not 0", "sum(x)"},
                                    {"sum(name)", 4, "this is string", "a number"},
                                    {"sum(ok)", 4, "this is bool", "count(x)"},
                                    {"sum(srk)", 4, "unknown column 'srk'", "did you mean 'src'?"}};
  for (const wrong& w : table) {
    const compiled_aggregate c = compile_aggregate(w.text, all_names());
    EXPECT_FALSE(c.value.has_value()) << w.text;
    ASSERT_FALSE(c.problems.empty()) << w.text;
    EXPECT_EQ(c.problems[0].offset, w.offset) << w.text;
    EXPECT_THAT(c.problems[0].message, HasSubstr(w.message)) << w.text;
    EXPECT_THAT(c.problems[0].expected + " | " + c.problems[0].hint, HasSubstr(w.advice)) << w.text;
  }
}

TEST(functions_table, is_complete) {
  ASSERT_GT(functions().size(), 40u);
  for (const function_help& f : functions()) {
    EXPECT_TRUE(f.signature.starts_with(f.name + "(")) << f.name;
    EXPECT_TRUE(f.help.ends_with(".")) << f.name;
    // The checker knows each: calling one without arguments is about the arguments.
    EXPECT_THAT(compile(f.name + "()", {}).problems.at(0).message, HasSubstr("argument")) << f.name;
  }
}

TEST(expression_limits, deep_and_long_texts_are_refused) {
  const auto refused = [](const std::string& text, const std::string& message) {
    const compiled c = compile(text, all_names());
    ASSERT_FALSE(c.value.has_value());
    EXPECT_THAT(c.problems.at(0).message, HasSubstr(message));
  };
  const auto repeat = [](const std::string& part, size_t n) {
    std::string out;
    for (size_t i = 0; i < n; ++i) out += part;
    return out;
  };
  refused(repeat("(", 5000) + "1" + repeat(")", 5000), "nested more than");
  refused(repeat("not ", 5000) + "ok", "nested more than");
  refused(repeat("-", 5000) + "1", "nested more than");
  refused(repeat("if(ok, 1, ", 5000) + "1" + repeat(")", 5000), "nested more than");
  refused("1" + repeat(" + 1", 5000), "build on each other");
  refused("min(1" + repeat(", 1", 5000) + ")", "build on each other");
  refused("name" + repeat("[0:1]", 5000), "build on each other");
  refused(std::string(70000, ' '), "bytes long");
  const std::string half = "pad_left('a', 10000000)";
  refused("1 + length(concat(" + half + ", " + half + "))", "a text of constants is longer than 16.0 MiB");
  EXPECT_EQ(compile("1 + length(concat(" + half + ", " + half + "))", all_names()).problems.at(0).offset, 11U);
  EXPECT_TRUE(compile("1" + repeat(" + src", 450), all_names()).value.has_value());
  EXPECT_TRUE(compile(repeat("(", 150) + "1" + repeat(")", 150), all_names()).value.has_value());
  // Each level of tuples uses its first element twice: shared, not repeated.
  std::string nested = "ok";
  for (int i = 0; i < 60; ++i) nested = "((" + nested + ", src) < (ok, dst))";
  const compiled deep = compile(nested, all_names());
  ASSERT_TRUE(deep.value.has_value());
  EXPECT_EQ(deep.value->columns(), (std::vector<size_t>{0, 1, 8}));
}

TEST(expression_fuzz, mutated_texts_never_crash) {
  const std::vector<std::string> seeds = {"src in (1, 2, dst)",
                                          "name like 'a%_'",
                                          "src not between 1 and dst",
                                          "if(src > 10 and not ok, key[0:4], 'a\\x41b'[1:])",
                                          "(src, name) <= (dst, \"x\")",
                                          "hash64(1, name, ratio) % 0x10 + rand(2, row_number)",
                                          "row[-1].name[0] << 3",
                                          "min(1.5e3, small, -signed8) * 1_000",
                                          "concat(name, trim(lower(string(key))))",
                                          "decimal_key(fields(name, '2.3b,4.1b', ','))",
                                          "keep(fields(key, '1'), 'a-z\\xff-')"};
  const std::string alphabet = "()[]:.,+-*/%&|^~<>=!'\"\\ 0123456789xeb_srckeyname\n\t\x80\xff";
  std::mt19937_64 random(7);
  size_t right = 0, wrong_texts = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = seeds[random() % seeds.size()];
    for (uint64_t edits = random() % 4; edits-- > 0;) {
      const size_t at = text.empty() ? 0 : random() % text.size();
      const char c = alphabet[random() % alphabet.size()];
      switch (random() % 4) {
        case 0: text.insert(at, 1, c); break;
        case 1: text.erase(at, 1 + random() % 3); break;
        case 2: text = text.substr(0, at) + seeds[random() % seeds.size()]; break;
        default:
          if (!text.empty()) text[at] = c;
      }
    }
    const compiled c = compile(text, all_names());
    EXPECT_EQ(c.value.has_value(), c.problems.empty()) << text;
    for (const problem& p : c.problems) EXPECT_LE(p.offset, text.size()) << text;
    (c.value ? right : wrong_texts) += 1;
    const compiled_aggregate a = compile_aggregate(text, all_names());
    EXPECT_EQ(a.value.has_value(), a.problems.empty()) << text;
    const compiled_sort_term s = compile_sort_term(text, all_names());
    EXPECT_EQ(s.value.has_value(), s.problems.empty()) << text;
  }
  EXPECT_GT(right, 1000u);
  EXPECT_GT(wrong_texts, 1000u);
}

}  // namespace
}  // namespace flowrun::expr
