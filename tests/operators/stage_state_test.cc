// A stage that begins with the state of another one gives from there on what that one would have given, at the edge of
// every batch.
#include <gtest/gtest.h>

#include <random>

#include "engine/expr/aggregate.h"
#include "operators/parts/order/group_stages.h"
#include "operators/parts/order/ordered_cut.h"
#include "operators/parts/order/row_limit.h"
#include "operators/parts/order/stage_state.h"
#include "operators/parts/rules/program.h"
#include "tests/support/random_rows.h"
#include "tests/support/wakers.h"

namespace flowrun::operators {
namespace {

using record::batch;
using record::type_of;
using rows = std::vector<std::string>;
using stage_pointer = std::unique_ptr<exec::ordered_stage>;

class stage_state : public testing::Test {
 protected:
  // Rows with a key that repeats in every other row, in batches of one to seven rows.
  std::vector<batch> input() {
    std::mt19937_64 random(1);
    std::vector<batch> out;
    uint64_t k = 0, i = 0;
    for (size_t b = 0; b < 60; ++b) {
      record::batch_builder builder(type_, pool_, record::rows_of_any_length(8 * 1024));
      for (size_t n = 1 + random() % 7; n > 0; --n, ++i) {
        k += random() % 2;
        std::byte* const row = builder.append();
        const auto key = static_cast<uint32_t>(k);
        std::memcpy(row + type_[0].offset, &key, sizeof key);
        builder.put_string(row + type_[1].offset, std::string(random() % 40, 'x') + std::to_string(i));
      }
      out.push_back(builder.take());
    }
    return out;
  }

  template <class Make>
  void expect_to_go_on(const record::row_type& output, Make make) {
    const std::vector<batch> all = input();
    std::vector<std::string> states;  // before each batch
    std::vector<rows> given;          // for each batch, and at the end
    {
      const stage_pointer whole = make();
      ASSERT_TRUE(whole->has_state());
      whole->keep_state();
      for (const batch& b : all) {
        states.push_back(whole->state({}));
        given.push_back(push(*whole, output, b));
      }
      given.push_back(finish(*whole, output));
    }
    for (size_t from = 0; from < all.size(); from += 7) {
      const stage_pointer rest = make();
      rest->keep_state();
      rest->begin_with(states[from]);
      for (size_t i = from; i < all.size(); ++i) ASSERT_EQ(push(*rest, output, all[i]), given[i]) << from << ", " << i;
      ASSERT_EQ(finish(*rest, output), given.back()) << from;
    }
  }

  static rows contents(const record::row_type& type, exec::output& out) {
    std::vector<batch> batches;
    for (auto& [port, b] : out.items()) batches.push_back(b);
    return record::contents_of(type, batches);
  }
  rows push(exec::ordered_stage& stage, const record::row_type& output, batch b) {
    exec::output out;
    EXPECT_TRUE(stage.push(b, out, nobody_).is_ready());
    EXPECT_FALSE(out.leaves_rows());
    return contents(output, out);
  }
  rows finish(exec::ordered_stage& stage, const record::row_type& output) {
    exec::output out;
    EXPECT_TRUE(stage.finish(out, nobody_).is_done());
    return contents(output, out);
  }

  const record::row_type type_ = type_of({{"k", "u32"}, {"s", "string"}});
  record::batch_pool pool_;
  no_waker nobody_;
};

TEST_F(stage_state, of_a_cut) {
  for (const auto& [where, limit] : std::vector<std::pair<repeats, uint64_t>>{
           {repeats::none, 50}, {repeats::at_batch_starts, 0}, {repeats::anywhere, 0}, {repeats::anywhere, 70}})
    expect_to_go_on(type_, [&, where = where, limit = limit] {
      return std::get<stage_pointer>(make_ordered_cut(type_, where, {{0, false, 0, 0}}, limit, pool_));
    });
}

TEST_F(stage_state, of_a_limit) {
  for (const auto& [keys, skip, count] : std::vector<std::tuple<std::vector<size_t>, uint64_t, uint64_t>>{
           {{}, 0, 50}, {{}, 30, 70}, {{0}, 0, 1}, {{0}, 1, 2}, {{0, 1}, 0, 1}})
    expect_to_go_on(type_, [&, keys = keys, skip = skip, count = count] {
      return std::get<stage_pointer>(make_row_limit(type_, keys, skip, count, pool_));
    });
}

TEST_F(stage_state, of_a_group) {
  named_aggregates aggregates;
  for (const char* text :
       {"count()", "sum(k)", "max(k)", "min(s)", "first(s)", "last(s)", "count_distinct(k)", "count_distinct(s)"})
    aggregates.emplace_back(text, *expr::compile_aggregate(text, expr::scope{.row = &type_}).value);
  for (const std::vector<std::string>& keys : {std::vector<std::string>{"k"}, {"k", "s"}, {}}) {
    std::vector<record::column> columns;
    for (const std::string& k : keys) columns.push_back(type_[*type_.index_of(k)]);
    const record::row_type output = group_type(std::move(columns), aggregates);
    expect_to_go_on(output, [&] {
      exec::assembly made;
      add_group_stages(made, type_, keys, aggregates, output, pool_, record::rows_of_any_length(8 * 1024));
      EXPECT_EQ(made.stages.size(), 1U);
      return std::get<stage_pointer>(std::move(made.stages[0]));
    });
  }
}

TEST_F(stage_state, of_numbered_rows) {
  const record::row_type output = type_of({{"n", "u64"}});
  expect_to_go_on(output, [&] {
    named_expressions columns;
    columns.emplace_back("n", *expr::compile("row_number * 2", expr::scope{.row = &type_, .row_number = true}).value);
    return std::get<stage_pointer>(make_program(type_, {program_step::map(std::move(columns))}, pool_));
  });
}

TEST_F(stage_state, that_is_cut_off_is_an_error) {
  state_writer out;
  out.number(7);
  out.text("eight");
  const std::string whole = out.take();
  for (size_t length = 0; length < whole.size(); ++length) {
    state_reader in(std::string_view(whole).substr(0, length));
    EXPECT_THROW((in.number(), in.text()), error) << length;
  }
}

}  // namespace
}  // namespace flowrun::operators
