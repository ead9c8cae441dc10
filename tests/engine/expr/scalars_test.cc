// Named values: their types are checked, their values come later; what expressions mention.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/expr/expression.h"
#include "engine/expr/mentions.h"
#include "engine/expr/outside_function.h"
#include "engine/expr/row_program.h"
#include "engine/expr/scalars.h"
#include "tests/engine/expr/program_harness.h"

namespace flowrun::expr {
namespace {

using record::type_kind;
using record::value_type;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::vector<constant> values() {
  return {{"t", value_type::of(type_kind::u64), 7},
          {"done", value_type::of(type_kind::boolean), 1},
          {"rows(new)", value_type::of(type_kind::u64), 3},
          {"rows(new.rest)", value_type::of(type_kind::u64), 4},
          {"total.n", value_type::of(type_kind::i64), ~uint64_t{0}}};
}

std::optional<uint64_t> value_of(const char* text, const scope& names) {
  return compile(text, names).value->with(values()).constant_bits();
}

TEST(scalars, are_one_number_without_rows_once_they_have_values) {
  const scope names{.constants = values()};
  EXPECT_TRUE(compile("t * 2", names).value->is_constant());
  EXPECT_EQ(compile("t * 2", names).value->constant_bits(), std::nullopt);
  EXPECT_EQ(value_of("t * 2 + rows(new)", names), 17U);
  EXPECT_EQ(value_of("rows(new.rest) == 4 and done", names), 1U);
  EXPECT_EQ(value_of("total.n < 0", names), 1U);
  EXPECT_EQ(value_of("if(done, t, rows(new))", names), 7U);
  EXPECT_EQ(compile("concat('t', string(t))", names).value->with(values()).constant_text(), "t7");
  EXPECT_EQ(compile("total.n", names).value->type(), value_type::of(type_kind::i64));
}

// With any values of the scalars, an expression reads the columns that it read when it was checked.
TEST(scalars, fold_no_column_away) {
  const record::row_type row({{"x", value_type::of(type_kind::u64)}});
  const expression checked = *compile("if(done, t, x)", scope{.row = &row, .constants = values()}).value;
  EXPECT_THAT(checked.columns(), ElementsAre(0U));
  EXPECT_THAT(checked.with(values()).columns(), ElementsAre(0U));
  EXPECT_EQ(checked.with(values()).type(), checked.type());
}

TEST(scalars, are_bound_in_everything_that_has_expressions) {
  const scope names{.constants = values()};
  struct settings {
    std::vector<std::pair<std::string, expression>> columns;
    std::optional<expression> where;
    void bind(const scalar_values& v) { bind_all(v, columns, where); }
  };
  std::optional<std::vector<settings>> all{{{{{"a", *compile("t", names).value}}, *compile("t + 1", names).value}}};
  expr::bind(all, values());
  EXPECT_EQ(all->front().columns[0].second.constant_bits(), 7U);
  EXPECT_EQ(all->front().where->constant_bits(), 8U);
}

TEST(expressions, move_over_other_rows) {
  const record::row_type row({{"x", value_type::of(type_kind::u64)}, {"y", value_type::of(type_kind::u64)}});
  const expression moved = compile("y + y * 2", scope{.row = &row}).value->over({7, 3});
  EXPECT_THAT(moved.columns(), ElementsAre(3U));
}

TEST(scalars, do_not_decide_about_types) {
  const record::row_type row({{"key", value_type::fixed_bytes(10)}, {"x", value_type::of(type_kind::u32)}});
  const scope names{.row = &row, .constants = values()};
  // With a constant it would be bytes[7].
  EXPECT_FALSE(compile("key[0:t]", names).problems.empty());
  EXPECT_TRUE(compile("string(key)[0:t]", names).value->type().is_string());
  EXPECT_EQ(compile("t + 1", names).value->constant_bits(), std::nullopt);
  EXPECT_EQ(compile("x + t", names).value->type(), value_type::of(type_kind::u64));
}

// Their values come with the run: what is accepted with one value is accepted with each, and wraps as columns do.
TEST(scalars, are_not_judged) {
  for (const uint64_t value : {uint64_t{0}, uint64_t{7}, ~uint64_t{0}}) {
    const scope names{.constants = {{"t", value_type::of(type_kind::u64), value}}};
    const auto bound = [&](const char* text) {
      return compile(text, names).value->with(names.constants).constant_bits();
    };
    EXPECT_EQ(bound("t - 8"), value - 8);
    EXPECT_EQ(bound("u8(t)"), value % 256);
    EXPECT_EQ(bound("-1 + i64(t)"), value - 1);
    EXPECT_EQ(compile("if(t > 3, t, 10)", names).value->type(), value_type::of(type_kind::u64));
    EXPECT_FALSE(compile("t + -1", names).problems.empty());
    EXPECT_FALSE(compile("if(true, t, i64(1)) - total", names).problems.empty());
  }
}

// An iteration of a loop that has no rows isn't ended by what none of them computes.
TEST(scalars, fail_where_their_value_is_asked_for) {
  const record::row_type row({{"x", value_type::of(type_kind::u64)}});
  const scope names{.row = &row, .constants = values()};
  for (const char* text : {"to_decimal(log(t - 7), 2)", "string(to_decimal(log(t - 7), 2))"}) {
    const expression bound = compile(text, names).value->with(values());
    EXPECT_TRUE(bound.is_constant());
    EXPECT_THROW(bound.constant_bits(), call_failed);
    EXPECT_THROW(bound.constant_text(), call_failed);
    row_program_builder builder(row);
    builder.map({{"value", bound}});
    const row_program program = builder.build();
    record::batch_pool pool;
    std::vector<record::batch> out;
    EXPECT_EQ(program.run(testing::pack(row, {}), 0, pool, out), 0U);
    EXPECT_THROW(program.run(testing::pack(row, {{uint64_t{1}}}), 0, pool, out), call_failed);
  }
}

// A constant can't be so long, and rows can.
TEST(scalars, make_texts_as_long_as_columns_do) {
  const record::row_type row({{"x", value_type::of(type_kind::u64)}});
  const scope names{.row = &row, .constants = values()};
  const expression bound =
      compile("length(concat(pad_left('a', t * 2000000), pad_left('b', t * 2000000)))", names).value->with(values());
  EXPECT_THROW(bound.constant_bits(), call_failed);
  row_program_builder builder(row);
  builder.map({{"value", bound}});
  record::batch_pool pool;
  std::vector<record::batch> out;
  builder.build().run(testing::pack(row, {{uint64_t{1}}}), 0, pool, out);
  EXPECT_THAT(testing::unpack(record::row_type({{"value", value_type::of(type_kind::u64)}}), out),
              ElementsAre(testing::row{uint64_t{28'000'000}}));
}

TEST(scalars, are_hidden_by_columns) {
  const record::row_type row({{"t", value_type::of(type_kind::f64)}});
  EXPECT_EQ(compile("t", scope{.row = &row, .constants = values()}).value->type(), value_type::of(type_kind::f64));
}

TEST(scalars, are_suggested) {
  const compiled result = compile("t + dune", scope{.constants = values()});
  ASSERT_EQ(result.problems.size(), 1U);
  EXPECT_EQ(result.problems[0].offset, 4U);
  EXPECT_EQ(result.problems[0].message, "unknown scalar 'dune'");
  EXPECT_THAT(result.problems[0].hint, ::testing::HasSubstr("done"));
  // A name that nothing counts is an ordinary mistake.
  EXPECT_FALSE(compile("rows(old)", scope{.constants = values()}).problems.empty());
}

TEST(scalars, of_bool_fields_are_0_or_1) {
  for (const uint8_t byte : {0, 1, 2, 255}) {
    const auto field = std::byte{byte};
    EXPECT_EQ(scalar_bits(&field, value_type::of(type_kind::boolean)), byte != 0 ? 1U : 0U);
  }
}

TEST(mentions, of_nodes) {
  const mentions found = mentioned("rows(new) == 0 or (total.n > rows(a.b) and -rows(new) < x.y) and f(total.n, z)");
  EXPECT_THAT(found.counted, ElementsAre("new", "a.b"));
  EXPECT_THAT(found.members, ElementsAre(Pair("total", "n"), Pair("x", "y")));
  EXPECT_THAT(mentioned("rows(").counted, IsEmpty());
  EXPECT_THAT(mentioned("row[-1].x + rows").members, IsEmpty());
}

}  // namespace
}  // namespace flowrun::expr
