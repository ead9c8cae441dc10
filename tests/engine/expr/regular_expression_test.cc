// Regular expressions over columns: beside RE2's own words for the same, their faults, and scalars as patterns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <re2/re2.h>

#include <random>

#include <thread>

#include "engine/expr/pattern_memory.h"
#include "engine/expr/scalars.h"
#include "tests/engine/expr/program_harness.h"

namespace flowrun::expr {
namespace {

using testing::cell;
using ::testing::HasSubstr;
using testing::row;

std::string random_text(std::mt19937_64& random) {
  static const std::vector<std::string> pieces = {"a", "b", "ab", "1", "22", " ", "\xc3\xa9", "\xff", "=", "\n", ""};
  std::string out;
  for (uint64_t n = random() % 9; n-- > 0;) out += pieces[random() % pieces.size()];
  return out;
}

TEST(regular_expressions, do_what_re2_does) {
  const record::row_type type = testing::type_of({{"text", "string"}, {"n", "u8"}});
  std::mt19937_64 random(1);
  std::vector<row> rows;
  for (int i = 0; i < 1500; ++i) rows.push_back({random_text(random), uint64_t{0}});
  const record::batch in = testing::pack(type, rows);
  for (const std::string pattern : {"a+", "(a|b)(1?)", "", "[0-9]*", ".", "^a", "b$", "(?i)A", "\\bab", "()"}) {
    const RE2 re(pattern);
    const std::string quoted = "text, r'" + pattern + "'";
    const auto matched = testing::evaluate_rows("if(regex_matches(" + quoted + "), 1, 0)", type, in);
    const auto found = testing::evaluate_rows("regex_extract(" + quoted + ")", type, in);
    const auto replaced = testing::evaluate_rows("regex_replace(" + quoted + ", r'<\\0>')", type, in);
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto& text = std::get<std::string>(rows[i][0]);
      EXPECT_EQ(std::get<uint64_t>(matched[i]) != 0, RE2::PartialMatch(text, re)) << pattern << " in " << text;
      std::string first, all = text;
      RE2::Extract(text, re, "\\0", &first);
      RE2::GlobalReplace(&all, re, "<\\0>");
      EXPECT_EQ(std::get<std::string>(found[i]), first) << pattern << " in " << text;
      EXPECT_EQ(std::get<std::string>(replaced[i]), all) << pattern << " in " << text;
    }
  }
}

TEST(regular_expressions, of_many_groups_give_the_last) {
  std::string pattern, text;
  for (int i = 0; i < 20; ++i) pattern += "(.)", text += static_cast<char>('a' + i);
  EXPECT_EQ(std::get<std::string>(testing::evaluate_constant("regex_extract('" + text + "', '" + pattern + "', 20)")),
            "t");
}

TEST(regular_expressions, name_what_is_wrong) {
  const record::row_type type = testing::type_of({{"text", "string"}, {"n", "u64"}});
  const auto fault = [&](const std::string& expression) {
    const compiled refused = compile(expression, {.row = &type});
    EXPECT_FALSE(refused.value.has_value()) << expression;
    return refused.value ? problem{} : refused.problems.at(0);
  };
  const problem open = fault("regex_matches(text, '(ab')");
  EXPECT_EQ(open.message, "regex_matches: '(ab' does not compile: missing ): (ab");
  EXPECT_EQ(open.offset, 20);
  EXPECT_THAT(fault(R"(regex_matches(text, r'(a)\1'))").hint, HasSubstr("back references"));
  EXPECT_THAT(fault("regex_matches(text, text)").message, HasSubstr("the pattern is not a constant"));
  EXPECT_THAT(fault("regex_matches(n, 'a')").hint, HasSubstr("write string(x)"));
  EXPECT_THAT(fault("regex_extract(text, 'a', 1)").message, HasSubstr("the pattern has 0 groups"));
  EXPECT_THAT(fault("regex_extract(text, '(a)', 2)").expected, HasSubstr("1 to 1"));
  EXPECT_THAT(fault("regex_extract(text, '(a)', 'x')").message, HasSubstr("no group 'x'"));
  EXPECT_THAT(fault("regex_extract(text, '(a)', n)").message, HasSubstr("not a constant"));
  EXPECT_THAT(fault(R"(regex_replace(text, 'a', r'\1'))").message, HasSubstr("1"));
  EXPECT_THAT(fault(R"(regex_replace(text, 'a', '<\0>'))").message, HasSubstr("a byte 0"));
  EXPECT_EQ(fault(R"(regex_replace(text, 'a', '<\0>'))").hint, R"(write r'…', as in r'<\0>', where \0 is the match)");
  EXPECT_THAT(fault("regex_replace(text, 'a', text)").message, HasSubstr("not a constant"));
  EXPECT_THAT(fault("r'a").message, HasSubstr("text literal without its end"));
  EXPECT_THAT(fault("bytes(text, n)").message, HasSubstr("no length of bytes[N]"));
  EXPECT_THAT(fault("bytes(text, 0)").expected, HasSubstr("1 to 65536"));
}

TEST(regular_expressions, get_the_number_of_a_group_from_a_scalar) {
  const record::row_type type = testing::type_of({{"text", "string"}});
  const scope names{.row = &type, .constants = {{"group", record::value_type::of(record::type_kind::u64), 0}}};
  const expression open = testing::compiled_ok("regex_extract(text, '(a)(b)', group)", names);
  const auto with = [&](uint64_t group) {
    return open.with({{"group", record::value_type::of(record::type_kind::u64), group}});
  };
  EXPECT_NO_THROW(with(2));
  EXPECT_ANY_THROW(with(3));
}

// Patterns share an allowance beside the budget; what they may take beyond it counts.
TEST(regular_expressions, have_a_bounded_memory) {
  struct line {
    uint64_t least, num_patterns, given;
  };
  const std::vector<line> table = {
      {256 * KiB, 0, 8 * MiB},    {256 * KiB, 1, 8 * MiB}, {256 * KiB, 2, 8 * MiB},    {256 * KiB, 4, 4 * MiB},
      {256 * KiB, 64, 256 * KiB}, {8 * MiB, 64, 8 * MiB},  {256 * KiB, 65, 256 * KiB},
  };
  for (const line& l : table) EXPECT_EQ(bytes_of_pattern(l.least, l.num_patterns), l.given) << l.num_patterns;

  const record::row_type type = testing::type_of({{"text", "string"}});
  const scope names = {.row = &type};
  EXPECT_EQ(pattern_bytes_in_budget(), 0U);
  {
    std::vector<expression> alive;
    for (int i = 0; i < 64; ++i)
      alive.push_back(testing::compiled_ok("regex_matches(text, 'a" + std::to_string(i) + "')", names));
    EXPECT_EQ(pattern_bytes_in_budget(), 0U);
    for (int i = 0; i < 64; ++i)  // the same patterns, in another call
      alive.push_back(testing::compiled_ok("regex_extract(text, 'a" + std::to_string(i) + "')", names));
    EXPECT_EQ(pattern_bytes_in_budget(), 0U);
    for (int i = 64; i < 100; ++i)
      alive.push_back(testing::compiled_ok("regex_matches(text, 'a" + std::to_string(i) + "')", names));
    EXPECT_EQ(pattern_bytes_in_budget(), 36 * 256 * KiB);
    alive.push_back(testing::compiled_ok("regex_matches(text, '(abc|[^x]de){900}')", names));  // a long program
    EXPECT_GE(pattern_bytes_in_budget(), 36 * 256 * KiB + MiB);
  }
  EXPECT_EQ(pattern_bytes_in_budget(), 0U);
}

// With little memory an automaton of thousands of states starts over again and again: what it finds stays the same.
TEST(regular_expressions, find_the_same_in_little_memory) {
  const record::row_type type = testing::type_of({{"text", "string"}});
  const scope names = {.row = &type};
  std::mt19937_64 random(2);
  std::vector<row> rows;
  for (int i = 0; i < 200; ++i) {
    std::string text;
    for (int k = 0; k < 400; ++k) text += "abc"[random() % 50 == 0 ? 2 : random() % 2];
    rows.push_back({text});
  }
  const record::batch in = testing::pack(type, rows);
  const std::string pattern = "(a|b)*a[ab]{12}c[ab]a";
  const RE2 re(pattern);
  std::vector<expression> others;
  for (int i = 0; i < 70; ++i)
    others.push_back(testing::compiled_ok("regex_matches(text, 'b" + std::to_string(i) + "')", names));
  const auto check = [&] {
    const auto found = testing::evaluate_rows("regex_extract(text, '" + pattern + "')", type, in);
    for (size_t i = 0; i < rows.size(); ++i) {
      std::string first;
      RE2::Extract(std::get<std::string>(rows[i][0]), re, "\\0", &first);
      EXPECT_EQ(std::get<std::string>(found[i]), first) << i;
    }
  };
  const expression alive = testing::compiled_ok("regex_extract(text, '" + pattern + "')", names);  // all threads' own
  std::thread another(check);
  check();
  another.join();
}

}  // namespace
}  // namespace flowrun::expr
