// x in (…), x between a and b, text like pattern: beside the comparisons that they stand for, and a plain matcher.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "engine/expr/aggregate.h"
#include "engine/expr/mentions.h"
#include "engine/expr/scalars.h"
#include "tests/engine/expr/program_harness.h"

namespace flowrun::expr {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::row;

const record::row_type& columns() {
  static const record::row_type type = testing::type_of({{"n", "u16"},
                                                         {"i", "i32"},
                                                         {"u", "u64"},
                                                         {"x", "f64"},
                                                         {"ok", "bool"},
                                                         {"text", "string"},
                                                         {"key", "bytes[2]"},
                                                         {"price", "decimal[2]"},
                                                         {"day", "date"},
                                                         {"at", "timestamp"},
                                                         {"in", "u8"}});
  return type;
}

std::string random_text(std::mt19937_64& random) {
  static const std::vector<std::string> pieces = {"a", "b", "ab", "%", "_", "\\", "\xc3\xa9", "\xff", "\n", ".", ""};
  std::string out;
  for (uint64_t n = random() % 6; n-- > 0;) out += pieces[random() % pieces.size()];
  return out;
}

const record::batch& rows() {
  static const record::batch all = [] {
    std::mt19937_64 random(7);
    std::vector<row> out;
    for (int k = 0; k < 2500; ++k) {
      const double reals[] = {0.0, -0.0, 1.5, std::numeric_limits<double>::quiet_NaN(), 7, 1e300};
      const std::string key = {"ab1"[random() % 3], "ab1"[random() % 3]};
      out.push_back({uint64_t{random() % 40}, static_cast<int64_t>(random() % 40) - 20,
                     random() % 3 == 0 ? ~uint64_t{0} - random() % 3 : random() % 30, reals[random() % 6],
                     uint64_t{random() % 2}, random_text(random), key, static_cast<int64_t>(random() % 2000) - 500,
                     static_cast<int64_t>(random() % 40), static_cast<int64_t>(random() % 40) * 86'400'000'000,
                     uint64_t{random() % 20}});
    }
    return testing::pack(columns(), out);
  }();
  return all;
}

std::vector<uint64_t> truth_of(const std::string& condition) {
  std::vector<uint64_t> out;
  for (const testing::cell& c : testing::evaluate_rows("if(" + condition + ", u64(1), u64(0))", columns(), rows()))
    out.push_back(std::get<uint64_t>(c));
  return out;
}

// What is in a list is said with == and or: with few and with many values of every type.
TEST(in, is_a_chain_of_comparisons) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> lists = {
      {"n", {"3"}},
      {"n", {"3", "-5", "39"}},
      {"i", {"-3", "5", "0", "19", "-20"}},
      {"i", {"n", "3", "-n"}},
      {"i", {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "-1", "-2", "-3", "1"}},
      {"n + 1", {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "i", "n * 2"}},
      {"u", {"18446744073709551615", "18446744073709551614", "i", "3", "-1"}},
      {"u", {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "-1", "18446744073709551615"}},
      {"i", {"-3", "-2", "-1", "0", "1", "2"}},
      {"i", {"-20", "7", "5", "6", "8", "300", "19"}},
      {"u", {"18446744073709551613", "18446744073709551614", "18446744073709551615", "0", "1", "2"}},
      {"n", {"0", "63", "64", "32", "31", "127", "39"}},
      {"x", {"0", "1.5", "7", "1e300"}},
      {"x", {"0", "1", "1.5", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "x"}},
      {"ok", {"true"}},
      {"ok", {"n > 3", "false"}},
      {"text", {"'a'", "'ab'"}},
      {"text",
       {"'a'", "'ab'", "''", "'b'", "'ab'", "'\\xff'",
        "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'"}},
      {"lower(text)", {"'a'", "key", "'ab'", "text", "'b'", "'abab'", "'%'"}},
      {"key", {"'ab'", "'1a'"}},
      {"key", {"'ab'", "'1a'", "'bb'", "'11'", "text"}},
      {"price", {"1", "12.5", "'3.25'", "-5", "to_decimal(n, 0)"}},
      {"price", {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11.5", "12.25", "-1.01", "0"}},
      {"day", {"'1970-01-01'", "'1970-01-08'", "to_date(at)"}},
      {"at", {"'1970-01-03'", "'1970-01-05T00:00:00Z'"}},
      {"in", {"in", "3"}},
      {"3", {"n", "i", "u"}},
      {"'a'", {"'b'", "text", "'c'"}},
      {"(n, text)", {"(3, 'a')", "(i, 'b')", "(7, key)"}},
      {"n & 7", {"1 << 1", "n / 2"}},
  };
  for (const auto& [value, list] : lists) {
    std::string in = value + " in (", chain;
    for (const std::string& one : list) {
      in += (chain.empty() ? "" : ", ") + one;
      chain += (chain.empty() ? "" : " or ") + value + " == (" + one + ")";
    }
    in += ")";
    EXPECT_EQ(truth_of(in), truth_of(chain)) << in;
    std::string not_in = in;
    not_in.insert(in.find(" in (") + 1, "not ");
    EXPECT_EQ(truth_of(not_in), truth_of("not (" + chain + ")")) << not_in;
    EXPECT_EQ(truth_of("not " + in), truth_of("not (" + chain + ")")) << in;
  }
}

// A list may be as long as a text may be, which a chain may not.
TEST(in, has_long_lists) {
  std::string numbers, texts;
  for (int k = 0; k < 4000; ++k) {
    numbers += (k == 0 ? "" : ", ") + std::to_string(k * 3);
    texts += (k == 0 ? "'" : ", '") + std::to_string(k * 3) + "'";
  }
  const auto expected = truth_of("n % 3 == 0");
  EXPECT_EQ(truth_of("n in (" + numbers + ")"), expected);
  EXPECT_EQ(truth_of("string(n) in (" + texts + ")"), expected);
  EXPECT_EQ(truth_of("string(n) not in (" + texts + ")"), truth_of("n % 3 != 0"));
  std::string columns_only;
  for (int k = 0; k < 3000; ++k) columns_only += (k == 0 ? "n + " : ", n + ") + std::to_string(k);
  EXPECT_EQ(truth_of("40 in (" + columns_only + ")"), truth_of("n <= 40"));
}

TEST(in, of_constants_is_one) {
  EXPECT_EQ(std::get<uint64_t>(testing::evaluate_constant("if(3 in (1, 2, 3), 1, 0)")), 1U);
  EXPECT_EQ(std::get<uint64_t>(testing::evaluate_constant("if('x' in ('a', 'b', 'c', 'd', 'e'), 1, 0)")), 0U);
  EXPECT_EQ(compile("2 in (1, 2)", scope{}).value->constant_bits(), 1U);
  EXPECT_EQ(compile("'b' not in ('a', 'b', 'c', 'd')", scope{}).value->constant_bits(), 0U);
}

// A table of constants is not bound to a value that comes later; what is looked up is.
TEST(in, has_scalars_on_both_sides) {
  const auto u64 = record::value_type::of(record::type_kind::u64);
  const scope names{.row = &columns(), .constants = {{"t", u64, 0}, {"all.n", u64, 0}}};
  const auto value = [&](const std::string& text, uint64_t t) {
    return compile(text, names).value->with({{"t", u64, t}, {"all.n", u64, 5}}).constant_bits();
  };
  const std::string list = "t in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)";
  EXPECT_EQ(value(list, 13), 1U);
  EXPECT_EQ(value(list, 14), 0U);
  EXPECT_EQ(value("string(t) in ('1', '2', '3', '4', '5')", 5), 1U);
  EXPECT_EQ(value("5 in (t, all.n)", 1), 1U);
  EXPECT_EQ(value("t between 3 and all.n", 5), 1U);
  EXPECT_EQ(value("t not between 3 and all.n", 5), 0U);
  EXPECT_EQ(value("concat('a', string(t)) like 'a1%'", 12), 1U);
  EXPECT_THAT(compile("n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)", names).value->over({4}).columns(),
              ElementsAre(4U));
  EXPECT_THAT(
      mentioned("x in (all.n, 3) and y between a.b and c.d").members,
      ElementsAre(std::pair<std::string, std::string>("all", "n"), std::pair<std::string, std::string>("a", "b"),
                  std::pair<std::string, std::string>("c", "d")));
}

TEST(between, has_both_ends) {
  const std::vector<std::pair<std::string, std::string>> same = {
      {"n between 3 and 7", "n >= 3 and n <= 7"},
      {"n between 7 and 3", "false"},
      {"i between -3 and n", "i >= -3 and i <= n"},
      {"u between i and 18446744073709551614", "u >= i and u <= 18446744073709551614"},
      {"x between 0 and 1.5", "x >= 0 and x <= 1.5"},
      {"text between 'a' and key", "text >= 'a' and text <= key"},
      {"price between '-1.5' and 7", "price >= '-1.5' and price <= 7"},
      {"day between '1970-01-03' and '1970-01-20'", "day >= '1970-01-03' and day <= '1970-01-20'"},
      {"ok between false and true", "true"},
      {"n between 1 + 2 and 3 << 1 and i > 0 or ok", "(n >= 3 and n <= 6 and i > 0) or ok"},
      {"not n between 3 and 7", "n < 3 or n > 7"},
      {"n not between 3 and 7 and ok", "(n < 3 or n > 7) and ok"},
      {"(n, i) between (3, -3) and (7, 0)", "(n, i) >= (3, -3) and (n, i) <= (7, 0)"},
  };
  for (const auto& [a, b] : same) EXPECT_EQ(truth_of(a), truth_of(b)) << a;
}

// One character of UTF-8, or nullopt: a byte that begins none.
size_t character_at(const std::string& text, size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x80) return 1;
  return byte == 0xc3 && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) == 0xa9 ? 2 : 0;
}

bool matches(const std::string& text, size_t at, const std::string& pattern, size_t p) {
  if (p == pattern.size()) return at == text.size();
  if (pattern[p] == '%') {
    for (size_t next = at; next <= text.size(); ++next)
      if (matches(text, next, pattern, p + 1)) return true;
    return false;
  }
  if (at == text.size()) return false;
  if (pattern[p] == '_') {
    const size_t length = character_at(text, at);
    return length > 0 && matches(text, at + length, pattern, p + 1);
  }
  if (pattern[p] == '\\') ++p;
  return text[at] == pattern[p] && matches(text, at + 1, pattern, p + 1);
}

TEST(like, does_what_a_plain_matcher_does) {
  const auto texts = testing::evaluate_rows("text", columns(), rows());
  for (const std::string pattern :
       {"",   "a",         "%",         "%%",          "a%",   "%a",   "%a%",   "a%b",   "ab%ab",  "%a%b%",
        "_",  "__",        "_%",        "%_",          "a_b",  "%a_%", "\\%",   "%\\_%", "a\\\\%", "%.%b",
        ".%", "\xc3\xa9%", "_\xc3\xa9", "%\xc3\xa9_%", "a%_b", "%a%",  "%_a%b", "_.%",   "\n%a_"}) {
    const auto found = truth_of("text like r'" + pattern + "'");
    const auto others = truth_of("text not like r'" + pattern + "'");
    for (size_t k = 0; k < texts.size(); ++k) {
      const auto& text = std::get<std::string>(texts[k]);
      ASSERT_EQ(found[k] != 0, matches(text, 0, pattern, 0)) << pattern << " and '" << text << "'";
      ASSERT_NE(found[k], others[k]);
    }
  }
  EXPECT_EQ(truth_of("key like 'a%'"), truth_of("starts_with(key, 'a')"));
  EXPECT_EQ(truth_of("key like 'a%b'"), truth_of("key == 'ab'"));
  EXPECT_EQ(truth_of("key like 'ab%b'"), truth_of("false"));
  EXPECT_EQ(truth_of("key like '_1'"), truth_of("key[1] == 49"));
  EXPECT_EQ(truth_of("text like concat('a', '%')"), truth_of("starts_with(text, 'a')"));
}

TEST(relations, name_what_is_wrong) {
  const auto fault = [](const std::string& text) {
    const problem p = testing::refusal_over(text, columns());
    return std::to_string(p.offset) + ": " + p.message + " | " + p.expected + " | " + p.hint;
  };
  EXPECT_EQ(fault("n in (1, 'a')"),
            "9: u16 and string can't be compared | two numbers, two texts or two bools | write to_u64(text) to compare "
            "numbers, or string(number) to compare texts");
  EXPECT_THAT(fault("day in ('1970-01-02', '1970-02-30')"), HasSubstr("22: '1970-02-30' is no date"));
  EXPECT_THAT(fault("price in (1, 'x')"), HasSubstr("13: 'x' is no decimal"));
  EXPECT_THAT(fault("day between '1970-01-02' and n"), HasSubstr("29: date and u16 can't be compared"));
  EXPECT_THAT(fault("nn in (1, 2)"), HasSubstr("0: unknown column 'nn'"));
  EXPECT_THAT(fault("n in (1, mm, 2)"), HasSubstr("9: unknown column 'mm'"));
  EXPECT_THAT(fault("(n, i) in ((1, 2), 3)"), HasSubstr("19: a tuple can only be compared with a tuple"));
  EXPECT_THAT(fault("(n, i) in ((1, 2, 3))"), HasSubstr("11: a tuple of 2 can't be compared with one of 3"));
  EXPECT_THAT(fault("n between 1 and 'b'"), HasSubstr("16: u16 and string can't be compared"));
  // Both are names, and neither is a tuple.
  EXPECT_THAT(fault("n between i and (n, i)"), HasSubstr("2: a tuple can only be compared with a tuple"));
  EXPECT_THAT(fault("abs(n) between abs(i) and (1, 2)"), HasSubstr("7: a tuple can only be compared with a tuple"));
  EXPECT_THAT(fault("n between (n, i) and i"), HasSubstr("2: a tuple can only be compared with a tuple"));
  EXPECT_THAT(fault("(n, i) between n and i"), HasSubstr("7: a tuple can only be compared with a tuple"));
  EXPECT_THAT(fault("n in 3"), HasSubstr("5: unexpected '3' | values in parentheses, as in x in (1, 2)"));
  EXPECT_THAT(fault("n in ()"), HasSubstr("6: unexpected ')' | a value"));
  EXPECT_THAT(fault("n in (1, 2"), HasSubstr("5: no ')' closes this"));
  EXPECT_THAT(fault("n between 1 or 2"), HasSubstr("12: unexpected 'or' | 'and', as in x between 1 and 5"));
  EXPECT_THAT(fault("n between 1"), HasSubstr("11: the expression ends too early | 'and', as in x between 1 and 5"));
  EXPECT_THAT(fault("n == 1 in (true)"), HasSubstr("7: comparisons can't be chained"));
  EXPECT_THAT(fault("n in (1) == true"), HasSubstr("9: comparisons can't be chained"));
  EXPECT_THAT(fault("n not 3"), HasSubstr("2: unexpected 'not'"));
  EXPECT_THAT(fault("n like 'a'"), HasSubstr("0: like: this is u16 | string or bytes[N] | write string(x)"));
  EXPECT_THAT(fault("text like 3"), HasSubstr("10: like: this is u64"));
  EXPECT_THAT(fault("text like text"), HasSubstr("10: like: the pattern is not a constant"));
  EXPECT_THAT(fault(R"(text like r'a\b')"), HasSubstr(R"(in 'a\b' a \ stands in front of nothing)"));
  EXPECT_THAT(fault(R"(text like 'a\\')"), HasSubstr(R"(in 'a\' a \ stands in front of nothing)"));
  EXPECT_THAT(fault("text ilike 'a%'"), HasSubstr("unexpected 'ilike' | an operator or the end | write lower(x) like"));
  EXPECT_THAT(fault("like(text, 'a%')"), HasSubstr("write text like 'a%'"));
  EXPECT_THAT(fault("in(n, 3)"), HasSubstr("write x in (a, b)"));
}

TEST(relations, are_no_reserved_words) {
  for (const char* word : {"in", "like", "between"}) EXPECT_FALSE(is_reserved_word(word));
  EXPECT_EQ(truth_of("in in (in, 3)"), truth_of("true"));
  EXPECT_EQ(truth_of("in between in and in"), truth_of("true"));
}

TEST(count, of_a_condition_is_a_sum) {
  const compiled_aggregate c = compile_aggregate("count(n > 3 and text like 'a%')", scope{.row = &columns()});
  ASSERT_TRUE(c.value.has_value());
  EXPECT_EQ(c.value->kind, aggregate_kind::sum);
  EXPECT_EQ(to_string(c.value->result), "u64");
  EXPECT_EQ(c.value->argument->text(), "n > 3 and text like 'a%'");
  EXPECT_TRUE(compile_aggregate("count(true)", scope{.row = &columns()}).value.has_value());
  const compiled_aggregate no = compile_aggregate("count(n)", scope{.row = &columns()});
  EXPECT_EQ(no.problems.at(0).message, "count: this is u16");
  EXPECT_EQ(no.problems.at(0).offset, 6U);
  EXPECT_EQ(compile_aggregate("count(ok, n)", scope{.row = &columns()}).problems.at(0).message,
            "count takes no argument or a condition, not 2");
}

}  // namespace
}  // namespace flowrun::expr
