// Aggregates that aren't the language's own: how their calls are compiled and bound again, and the state of one row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "engine/base/error.h"
#include "engine/expr/aggregate.h"
#include "engine/expr/outside_function.h"
#include "engine/expr/text_kernels.h"
#include "tests/engine/expr/program_harness.h"

namespace flowrun::expr {
namespace {

using record::type_kind;
using record::value_type;
using ::testing::HasSubstr;

const value_type u64 = value_type::of(type_kind::u64);

// toy.times(x, factor): the sum of x, times a constant from 1 to 9. Its state has 9 bytes.
class times final : public bound_aggregate {
 public:
  static constexpr size_t state_bytes = 9;
  explicit times(uint64_t factor) : factor_(factor) {}

  void start(std::byte* states, size_t num_states) const override { std::memset(states, 0, num_states * state_bytes); }
  void update(const row_targets& to, const text_operand* args) const override {
    for (size_t k = 0; k < to.num_states; ++k)
      for (uint32_t row = to.starts[k]; row < to.starts[k + 1]; ++row)
        add(to.states + k * state_bytes, static_cast<const uint64_t*>(args[0].data)[row * args[0].step] * factor_);
  }
  void combine(const row_targets& to, const std::byte* from, size_t step) const override {
    for (uint32_t row = 0; row < to.starts[to.num_states]; ++row) add(to.states, value_of(from + row * step));
  }
  size_t finish(const std::byte* states, const text_call& call) const override {
    for (size_t k = 0; k < call.num_rows; ++k) static_cast<uint64_t*>(call.out)[k] = value_of(states + k * state_bytes);
    return call.num_rows;
  }

  static uint64_t value_of(const std::byte* state) {
    uint64_t value = 0;
    std::memcpy(&value, state, sizeof value);
    return value;
  }

 private:
  static void add(std::byte* state, uint64_t more) {
    const uint64_t value = value_of(state) + more;
    std::memcpy(state, &value, sizeof value);
  }
  const uint64_t factor_;
};

class times_aggregate final : public outside_aggregate {
 public:
  const function_help& help() const override { return help_; }
  size_t min_args() const override { return 2; }
  size_t max_args() const override { return 2; }
  std::variant<aggregate_binding, binding_fault> bind(const std::vector<given_argument>& args) const override {
    if (!args[1].is_constant) return binding_fault{1, "this is not a constant", "a number from 1 to 9", ""};
    if (args[1].is_known && (args[1].lane < 1 || args[1].lane > 9))
      return binding_fault{1, "it can't be so often", "1 to 9", ""};
    return aggregate_binding{u64, {u64, u64}, times::state_bytes, true, false, std::make_shared<times>(args[1].lane)};
  }

 private:
  function_help help_{"toy.times", "toy.times(x, factor) → u64", "The sum, so often."};
};

class outside_aggregates : public ::testing::Test {
 protected:
  outside_aggregates() {
    functions.add(aggregate_);
    names.row = &row;
    names.functions = &functions;
  }
  aggregate ok(const std::string& text) const { return compile_aggregate(text, names).value.value(); }
  problem first_problem(const std::string& text) const { return compile_aggregate(text, names).problems.at(0); }

  // The states of the rows.
  std::vector<uint64_t> states_of(const aggregate& a, const record::batch& in) const {
    row_program_builder builder(row);
    builder.map({{"state", a.outside->state_of_row()}});
    const row_program program = builder.build();
    EXPECT_EQ(record::to_string(program.output()[0].type), "bytes[9]");
    record::batch_pool pool;
    std::vector<record::batch> batches;
    for (size_t done = 0; done < in.num_rows;)
      done += program.run(in.slice(done, in.num_rows - done), done, pool, batches);
    std::vector<uint64_t> out;
    for (const record::batch& b : batches)
      for (size_t i = 0; i < b.num_rows; ++i) out.push_back(times::value_of(b.row(i)));
    return out;
  }

  times_aggregate aggregate_;
  outside_functions functions;
  const record::row_type row = testing::type_of({{"name", "string"}, {"x", "u32"}, {"y", "i8"}});
  scope names;
};

TEST_F(outside_aggregates, have_arguments_and_a_type) {
  const aggregate a = ok("toy.times(x, 3)");
  EXPECT_EQ(a.kind, aggregate_kind::outside);
  EXPECT_EQ(a.result, u64);
  EXPECT_FALSE(a.is_ordered());
  ASSERT_EQ(a.outside->arguments.size(), 2U);
  // What widens into the wanted type stays as narrow as it is; what doesn't is converted.
  EXPECT_TRUE(a.outside->arguments[0].as_column().has_value());
  EXPECT_EQ(a.outside->arguments[0].text(), "x");
  EXPECT_EQ(a.outside->arguments[1].text(), "3");
  EXPECT_EQ(ok("toy.times(u64(y), 3)").outside->arguments[0].type(), u64);
}

TEST_F(outside_aggregates, have_faults_at_their_arguments) {
  problem p = first_problem("toy.times(x, 10)");
  EXPECT_EQ(p.offset, 13U);
  EXPECT_THAT(p.message, HasSubstr("it can't be so often"));
  p = first_problem("toy.times(name, 1)");
  EXPECT_EQ(p.offset, 10U);
  EXPECT_THAT(p.hint, HasSubstr("to_u64(x)"));
  // Below 0 it would become a huge number, and nobody would see it.
  p = first_problem("toy.times(y, 1)");
  EXPECT_EQ(p.offset, 10U);
  EXPECT_THAT(p.hint, HasSubstr("u64(x)"));
  EXPECT_THAT(first_problem("toy.times(x)").message, HasSubstr("takes 2 arguments, not 1"));
  EXPECT_THAT(first_problem("toy.time(x, 1)").hint, HasSubstr("toy.times"));
  EXPECT_THAT(compile("toy.times(x, 1)", names).problems.at(0).message, HasSubstr("is an aggregate and no function"));
}

TEST_F(outside_aggregates, are_bound_again_when_scalars_have_values) {
  names.constants = {{"t", u64, 0}};
  const record::batch in =
      testing::pack(row, {{std::string(), uint64_t{5}, int64_t{1}}, {std::string(), uint64_t{7}, int64_t{1}}});
  for (const uint64_t t : {1, 2}) {
    aggregate bound = ok("toy.times(x, t + 1)");
    bound.bind({{"t", u64, t}});
    EXPECT_THAT(states_of(bound, in), ::testing::ElementsAre(5 * (t + 1), 7 * (t + 1)));
  }
  aggregate bound = ok("toy.times(x, t + 1)");
  EXPECT_THROW(bound.bind({{"t", u64, 20}}), error);
}

TEST_F(outside_aggregates, start_a_state_for_each_row) {
  std::vector<testing::row> rows;
  std::vector<uint64_t> expected;
  for (uint64_t i = 0; i < 5000; ++i) {
    rows.push_back({std::string(), i, int64_t{1}});
    expected.push_back(2 * i);
  }
  EXPECT_EQ(states_of(ok("toy.times(x, 2)"), testing::pack(row, rows)), expected);
  EXPECT_EQ(states_of(ok("toy.times(4, 2)"), testing::pack(row, {rows[0], rows[1]})), (std::vector<uint64_t>{8, 8}));
}

}  // namespace
}  // namespace flowrun::expr
