// Parameters of the job in expressions: constants with a name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/expr/decimals.h"
#include "engine/expr/exact.h"
#include "engine/expr/expression.h"
#include "engine/expr/node.h"

namespace flowrun::expr {
namespace {

using record::type_kind;
using record::value_type;
using ::testing::Eq;
using ::testing::IsEmpty;

const std::vector<parameter>& parameters() {
  static const std::vector<parameter> all = {{"n", literal_node(7)},
                                             {"below", literal_node(-7)},
                                             {"most", literal_node(exact_number{~uint64_t{0}})},
                                             {"half", signed_real_node(0.5, "0.5")},
                                             {"cents", signed_real_node(-0.05, "-0.05")},
                                             {"who", text_node("O'Brien\\")},
                                             {"number", text_node("12.50")},
                                             {"day", number_node(value_type::of(type_kind::date), 20000)},
                                             {"on", number_node(value_type::of(type_kind::boolean), 1)},
                                             {"nothing", nullptr},
                                             {"top-k", literal_node(3)}};
  return all;
}

const record::row_type& row() {
  static const record::row_type type({{"name", value_type::of(type_kind::string)},
                                      {"key", value_type::fixed_bytes(8)},
                                      {"u", value_type::of(type_kind::u32)},
                                      {"i", value_type::of(type_kind::i16)},
                                      {"wide", value_type::of(type_kind::u64)},
                                      {"price", value_type::decimal(2)},
                                      {"t", value_type::of(type_kind::date)},
                                      {"who", value_type::of(type_kind::string)}});
  return type;
}

compiled compile_here(const std::string& text) {
  return compile(text, scope{.row = &row(), .parameters = &parameters()});
}

std::string shown(const problem& p) {
  return std::to_string(p.offset) + ": " + p.message + " | " + p.expected + " | " + p.hint;
}

std::string problem_of(const std::string& text) {
  const compiled c = compile_here(text);
  return c.problems.empty() ? "none" : shown(c.problems[0]);
}

TEST(parameters, are_known_constants) {
  EXPECT_EQ(compile_here("params.n * 2 + 1").value->constant_bits(), 15U);
  EXPECT_EQ(compile_here("params.who").value->constant_text(), "O'Brien\\");
  EXPECT_EQ(compile_here("if(params.on, params.n, u)").value->constant_bits(), 7U);
  EXPECT_EQ(compile_here("length(params.who)").value->constant_bits(), 8U);
  EXPECT_EQ(compile_here("params.day + 1").value->constant_bits(), 20001U);
  EXPECT_EQ(compile_here("params.who").value->text(), "params.who");
}

// Whatever is said with literals is said with parameters: the same types, the same constants, the same faults.
TEST(parameters, count_as_literals_do) {
  const std::vector<std::pair<std::string, std::string>> same = {
      {"u == params.n", "u == 7"},
      {"u + params.n", "u + 7"},
      {"u > params.below", "u > -7"},
      {"i + params.n", "i + 7"},
      {"wide - params.below", "wide - -7"},
      {"params.n - 8", "7 - 8"},
      {"params.most + 1", "18446744073709551615 + 1"},
      {"u8(params.most)", "u8(18446744073709551615)"},
      {"-params.n", "-7"},
      {"min(params.n, params.below)", "min(7, -7)"},
      {"params.half / 2", "0.5 / 2"},
      {"price * params.half", "price * 0.5"},
      {"price + params.cents", "price + -0.05"},
      {"price == params.number", "price == '12.50'"},
      {"params.cents + 1", "-0.05 + 1"},
      {"price * (1 + params.cents)", "price * (1 + -0.05)"},
      {"name == params.who", "name == 'O\\'Brien\\\\'"},
      {"key == params.who", "key == 'O\\'Brien\\\\'"},
      {"u == params.who", "u == 'O\\'Brien\\\\'"},
      {"if(u > 1, key, params.who)", "if(u > 1, key, 'O\\'Brien\\\\')"},
      {"key[0:params.n]", "key[0:7]"},
      {"t >= params.number", "t >= '12.50'"},
      {"t >= params.day", "t >= to_date('2024-10-04')"},
      {"regex_matches(name, params.number)", "regex_matches(name, '12.50')"},
      {"params.on and u > 1", "true and u > 1"},
  };
  for (const auto& [with, without] : same) {
    const compiled a = compile_here(with), b = compile_here(without);
    ASSERT_EQ(a.value.has_value(), b.value.has_value()) << with << problem_of(with) << problem_of(without);
    if (!a.value) {
      EXPECT_EQ(a.problems[0].message, b.problems[0].message) << with;
      continue;
    }
    EXPECT_EQ(a.value->type(), b.value->type()) << with;
    EXPECT_EQ(a.value->constant_bits(), b.value->constant_bits()) << with;
    EXPECT_EQ(a.value->columns(), b.value->columns()) << with;
  }
}

TEST(parameters, are_there_and_have_values) {
  EXPECT_EQ(problem_of("u > params.m"),
            "4: there is no parameter 'm' | one of params.n, params.below, params.most, params.half, params.cents, "
            "params.who, params.number, params.day, params.on, params.nothing | did you mean 'params.n'?");
  EXPECT_EQ(problem_of("u > params.nothing"),
            "4: the parameter 'nothing' has no value in this run | a value | give it a default:, or a value with -p "
            "nothing=…");
  EXPECT_EQ(
      problem_of("u > params.top-k"),
      "4: 'params.top-k' is no name in expressions |  | '-' is a minus in expressions: write ${top-k}, or call the "
      "parameter top_k and write params.top_k");
  EXPECT_EQ(problem_of("u > half"),
            "4: unknown column 'half' | one of name, key, u, i, wide, price, t, who | "
            "write params.half for the job's parameter");
  EXPECT_EQ(problem_of("u > params"),
            "4: unknown column 'params' | one of name, key, u, i, wide, price, t, who | "
            "params.n is a parameter's value");
  const std::vector<parameter> none;
  EXPECT_EQ(shown(compile("params.n", scope{.parameters = &none}).problems[0]),
            "0: there is no parameter 'n' | a parameter declared in params: | ");
  // Where no job is around.
  EXPECT_FALSE(compile("params.n", scope{}).problems.empty());
}

TEST(parameters, change_the_meaning_of_no_other_name) {
  const record::row_type columns({{"params", value_type::of(type_kind::u8)},
                                  {"params.other", value_type::of(type_kind::u8)},
                                  {"params.n", value_type::of(type_kind::u8)}});
  const scope both{
      .row = &columns, .constants = {{"params.x", value_type::of(type_kind::u64)}}, .parameters = &parameters()};
  EXPECT_EQ(compile("params", both).value->as_column(), 0U);
  EXPECT_EQ(compile("params.other", both).value->as_column(), 1U);
  EXPECT_EQ(compile("params.x", both).value->type(), value_type::of(type_kind::u64));
  EXPECT_EQ(compile("params.half", both).value->constant_bits(), compile("0.5", both).value->constant_bits());
  EXPECT_EQ(shown(compile("1 + params.n", both).problems[0]),
            "4: 'params.n' is a parameter of the job, and another value here | another name for one of the two | ");
  EXPECT_EQ(compile("params.z", both).problems[0].message, "unknown column 'params.z'");
  // A column with a parameter's name is the column.
  EXPECT_EQ(compile_here("who").value->as_column(), 7U);
}

}  // namespace
}  // namespace flowrun::expr
