// Functions that aren't in the table: how their calls are bound, folded, bound again, and run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "engine/base/error.h"
#include "engine/expr/outside_function.h"
#include "engine/expr/scalars.h"
#include "engine/expr/state_program.h"
#include "engine/expr/text_kernels.h"
#include "tests/engine/expr/program_harness.h"

namespace flowrun::expr {
namespace {

using record::type_kind;
using record::value_type;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const value_type u64 = value_type::of(type_kind::u64);
const value_type f64 = value_type::of(type_kind::f64);
const value_type string = value_type::of(type_kind::string);

uint64_t lane(const text_call& call, size_t arg, size_t row) {
  return static_cast<const uint64_t*>(call.args[arg].data)[row * call.args[arg].step];
}
std::string_view text(const text_call& call, size_t arg, size_t row) {
  return static_cast<const std::string_view*>(call.args[arg].data)[row * call.args[arg].step];
}

// toy.repeat(text, times): `times` is a constant from 1 to 9.
class repeated final : public bound_call {
 public:
  repeated(uint64_t times, std::atomic<int>& alive) : times_(times), alive_(alive) { ++alive_; }
  ~repeated() override { --alive_; }
  size_t run(const text_call& call) const override {
    for (size_t row = 0; row < call.num_rows; ++row) {
      if (row > 0 && call.arena->step_is_full()) return row;
      std::string out;
      for (uint64_t i = 0; i < times_; ++i) out += text(call, 0, row);
      static_cast<std::string_view*>(call.out)[row] = call.arena->keep(out);
    }
    return call.num_rows;
  }

 private:
  const uint64_t times_;
  std::atomic<int>& alive_;
};
class repeat_function final : public outside_function {
 public:
  const function_help& help() const override { return help_; }
  size_t min_args() const override { return 2; }
  size_t max_args() const override { return 2; }
  std::variant<binding, binding_fault> bind(const std::vector<given_argument>& args) const override {
    if (!args[1].is_constant) return binding_fault{1, "this is not a constant", "a number from 1 to 9", ""};
    if (!args[1].is_known) return binding{string, {string, u64}, std::make_shared<repeated>(0, alive)};
    if (args[1].lane < 1 || args[1].lane > 9) return binding_fault{1, "it can't be so often", "1 to 9", "cut it"};
    return binding{string, {string, u64}, std::make_shared<repeated>(args[1].lane, alive)};
  }
  mutable std::atomic<int> alive = 0;

 private:
  function_help help_{"toy.repeat", "toy.repeat(text, times) → string", "The text so often."};
};

// toy.sum(a, …) of floats; refuses numbers below 0 while it runs.
class sum_function final : public outside_function {
 public:
  class call final : public bound_call {
   public:
    size_t run(const text_call& call) const override {
      for (size_t row = 0; row < call.num_rows; ++row) {
        double sum = 0;
        for (size_t i = 0; i < call.num_args; ++i) sum += __builtin_bit_cast(double, lane(call, i, row));
        if (sum < 0) throw error(error_kind::bad_data, "sums below 0 are not allowed", "take abs(x)");
        static_cast<uint64_t*>(call.out)[row] = __builtin_bit_cast(uint64_t, sum);
      }
      return call.num_rows;
    }
  };
  const function_help& help() const override { return help_; }
  size_t min_args() const override { return 1; }
  size_t max_args() const override { return std::numeric_limits<size_t>::max(); }
  std::variant<binding, binding_fault> bind(const std::vector<given_argument>& args) const override {
    return binding{f64, std::vector<value_type>(args.size(), f64), std::make_shared<call>()};
  }

 private:
  function_help help_{"toy.sum", "toy.sum(a, …) → f64", "The sum."};
};

class outside : public ::testing::Test {
 protected:
  outside() {
    functions.add(repeat);
    functions.add(sum);
    names.row = &row;
    names.functions = &functions;
  }
  problem first_problem(const std::string& text) {
    const compiled result = compile(text, names);
    return result.problems.empty() ? problem{0, "no problem", "", ""} : result.problems.front();
  }
  std::vector<testing::cell> run(const expression& value, const record::batch& in) {
    row_program_builder builder(row);
    builder.map({{"value", value}});
    const row_program program = builder.build();
    record::batch_pool pool;
    std::vector<record::batch> out;
    for (size_t done = 0; done < in.num_rows;) done += program.run(in.slice(done, in.num_rows - done), done, pool, out);
    std::vector<testing::cell> cells;
    for (const testing::row& r : testing::unpack(program.output(), out)) cells.push_back(r[0]);
    return cells;
  }

  repeat_function repeat;
  sum_function sum;
  outside_functions functions;
  const record::row_type row = testing::type_of({{"name", "string"}, {"x", "u32"}, {"y", "i8"}, {"key", "bytes[3]"}});
  scope names;
};

TEST_F(outside, functions_have_types_and_faults_at_their_arguments) {
  EXPECT_EQ(compile("toy.repeat(name, 2)", names).value->type(), string);
  EXPECT_EQ(compile("toy.sum(x, y, 1)", names).value->type(), f64);
  EXPECT_EQ(compile("toy.repeat(key, 2)", names).value->type(), string);
  problem p = first_problem("toy.repeat(name, x)");
  EXPECT_EQ(p.offset, 17U);
  EXPECT_EQ(p.message, "toy.repeat: this is not a constant");
  p = first_problem("toy.repeat(name, 5 + 5)");
  EXPECT_EQ(p.offset, 17U);
  EXPECT_EQ(p.hint, "cut it");
  p = first_problem("toy.sum(x, name)");
  EXPECT_EQ(p.offset, 11U);
  EXPECT_THAT(p.message, HasSubstr("string"));
  EXPECT_EQ(p.expected, "f64");
  EXPECT_THAT(p.hint, HasSubstr("to_f64(x)"));
  EXPECT_THAT(first_problem("toy.repeat(name)").message, HasSubstr("takes 2 arguments, not 1"));
  EXPECT_THAT(first_problem("toy.sum()").message, HasSubstr("takes 1 or more arguments, not 0"));
}

TEST_F(outside, functions_that_are_not_known_have_advice) {
  EXPECT_THAT(first_problem("toy.repeet(name, 2)").message, HasSubstr("unknown function 'toy.repeet'"));
  EXPECT_THAT(first_problem("toy.repeet(name, 2)").hint, HasSubstr("toy.repeat"));
  names.functions = nullptr;
  EXPECT_THAT(first_problem("toy.repeat(name, 2)").message, HasSubstr("unknown function 'toy.repeat'"));
}

TEST_F(outside, calls_of_constants_are_folded) {
  EXPECT_EQ(compile("toy.repeat('ab', 3)", names).value->constant_text(), "ababab");
  EXPECT_EQ(compile("toy.sum(1, 2.5) == 3.5", names).value->constant_bits(), 1U);
  // What fails over constants is a fault of the expression.
  EXPECT_THAT(first_problem("1 + toy.sum(-3)").message, HasSubstr("sums below 0"));
  EXPECT_EQ(first_problem("1 + toy.sum(-3)").offset, 4U);
}

TEST_F(outside, calls_run_over_chunks_beside_other_values) {
  std::vector<testing::row> rows;
  for (uint64_t i = 0; i < 2500; ++i) rows.push_back({std::to_string(i), i, int64_t{1}, std::string("abc")});
  const record::batch in = testing::pack(row, rows);
  const auto doubled = run(*compile("concat(toy.repeat(name, 2), '/', toy.sum(x, y) + 1)", names).value, in);
  ASSERT_EQ(doubled.size(), 2500U);
  EXPECT_EQ(std::get<std::string>(doubled[0]), "00/2");
  EXPECT_EQ(std::get<std::string>(doubled[2499]), "24992499/2501");
  EXPECT_THROW(run(*compile("toy.sum(y - 2)", names).value, in), error);
}

TEST_F(outside, calls_make_long_texts_in_bounded_memory) {
  const std::vector<testing::row> rows(
      300, testing::row{std::string(50'000, 'x'), uint64_t{1}, int64_t{1}, std::string("abc")});
  const auto out = run(*compile("length(toy.repeat(name, 9))", names).value, testing::pack(row, rows));
  ASSERT_EQ(out.size(), 300U);
  for (const testing::cell& c : out) EXPECT_EQ(std::get<uint64_t>(c), 450'000U);
}

TEST_F(outside, calls_are_bound_again_when_scalars_have_values) {
  names.constants = {{"t", u64, 0}};
  const expression checked = *compile("toy.repeat(name, t + 1)", names).value;
  const record::batch in = testing::pack(row, {{std::string("ab"), uint64_t{1}, int64_t{1}, std::string("abc")}});
  for (const uint64_t t : {1, 2}) {
    const expression bound = checked.with({{"t", u64, t}});
    EXPECT_THAT(run(bound, in), ElementsAre(testing::cell(t == 1 ? std::string("abab") : std::string("ababab"))));
  }
  try {
    checked.with({{"t", u64, 20}});
    FAIL();
  } catch (const error& e) {
    EXPECT_EQ(e.kind(), error_kind::bad_spec);
    EXPECT_THAT(e.what(), HasSubstr("toy.repeat: it can't be so often"));
  }
  // The columns move, the value stays.
  const record::row_type other = testing::type_of({{"x", "u32"}, {"name", "string"}});
  EXPECT_THAT(checked.with({{"t", u64, 1}}).over({1, 0, 0, 0}).columns(), ElementsAre(1U));
}

TEST_F(outside, calls_live_as_long_as_what_runs_them) {
  {
    row_program_builder builder(row);
    builder.map({{"value", *compile("toy.repeat(name, 2)", names).value}});
    const row_program program = builder.build();
    EXPECT_EQ(repeat.alive, 1);
    record::batch_pool pool;
    std::vector<record::batch> out;
    program.run(testing::pack(row, {{std::string("ab"), uint64_t{1}, int64_t{1}, std::string("abc")}}), 0, pool, out);
    EXPECT_EQ(std::get<std::string>(testing::unpack(program.output(), out)[0][0]), "abab");
  }
  EXPECT_EQ(repeat.alive, 0);
}

}  // namespace
}  // namespace flowrun::expr
