// Stateful programs: order of updates, groups, emits, texts, and that cutting the input into batches changes nothing.
#include "engine/expr/state_program.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/engine/expr/program_harness.h"

namespace flowrun::expr {
namespace {

using testing::row;

const record::row_type item = testing::type_of({{"group", "u32"}, {"x", "i64"}, {"name", "string"}});

// A builder together with the scope of its expressions.
struct program_text {
  explicit program_text(std::vector<std::pair<std::string, std::string>> state) {
    std::vector<expression> initial;
    for (const auto& [name, text] : state) {
      initial.push_back(testing::compiled_ok(text, {}));
      names.state.push_back({name, initial.back().type()});
    }
    names.row = &item;
    names.row_number = true;
    builder = std::make_unique<state_program_builder>(item, names.state, initial);
  }
  expression over(const std::string& text) const { return testing::compiled_ok(text, names); }
  void set(size_t index, const std::string& text) {
    builder->set(index, over(text).converted_to(names.state[index].type).value());
  }
  void emit(const std::vector<std::pair<std::string, std::string>>& columns) {
    std::vector<std::pair<std::string, expression>> compiled;
    for (const auto& [name, text] : columns) compiled.push_back({name, over(text)});
    builder->emit(compiled);
  }
  scope names;
  std::unique_ptr<state_program_builder> builder;
};

std::vector<row> items(size_t n) {
  std::vector<row> rows;
  std::mt19937_64 random(9);
  for (uint64_t i = 0; i < n; ++i)
    rows.push_back({i / 37, static_cast<int64_t>(random() % 100) - 50, "n" + std::to_string(random() % 1000)});
  return rows;
}

std::vector<row> run(state_program& program, const std::vector<row>& rows, size_t per_batch) {
  record::batch_pool pool;
  std::vector<record::batch> out;
  for (size_t at = 0; at < rows.size(); at += per_batch) {
    const size_t end = std::min(rows.size(), at + per_batch);
    const std::vector<row> part(rows.begin() + static_cast<long>(at), rows.begin() + static_cast<long>(end));
    program.run(testing::pack(item, part), at, pool, out);
  }
  return testing::unpack(program.output(), out);
}

TEST(state_program, sums_and_numbers_rows) {
  program_text text({{"total", "i64(0)"}, {"n", "0"}});
  text.set(0, "total + x");
  text.set(1, "n + 1");
  text.emit({{"n", "n"}, {"total", "total"}, {"name", "name"}, {"at", "row_number"}, {"twice", "total * 2 + x"}});
  state_program program = text.builder->build();
  const auto rows = items(3000);
  std::vector<row> expected;
  int64_t total = 0;
  for (uint64_t i = 0; i < rows.size(); ++i) {
    const int64_t x = std::get<int64_t>(rows[i][1]);
    total += x;
    expected.push_back({i + 1, total, rows[i][2], i, total * 2 + x});
  }
  EXPECT_EQ(run(program, rows, 3000), expected);
  program.reset();
  EXPECT_EQ(run(program, rows, 170), expected);
  program.reset();
  EXPECT_EQ(run(program, rows, 1), expected);
}

TEST(state_program, assignments_see_those_before_them) {
  // Fibonacci: swapping needs the old values of both.
  program_text text({{"a", "0"}, {"b", "1"}, {"t", "0"}});
  text.emit({{"before", "a"}});
  text.set(2, "a");
  text.set(0, "b");
  text.set(1, "t + b");
  state_program program = text.builder->build();
  const auto out = run(program, items(8), 8);
  std::vector<uint64_t> seen;
  for (const row& r : out) seen.push_back(std::get<uint64_t>(r[0]));
  EXPECT_EQ(seen, (std::vector<uint64_t>{0, 1, 1, 2, 3, 5, 8, 13}));
}

TEST(state_program, variables_can_change_places) {
  program_text text({{"a", "1"}, {"b", "2"}, {"t", "0"}});
  text.set(2, "a");
  text.set(0, "b");
  text.set(1, "t");
  text.emit({{"a", "a"}, {"b", "b"}});
  state_program program = text.builder->build();
  const row swapped = {uint64_t{2}, uint64_t{1}}, back = {uint64_t{1}, uint64_t{2}};
  EXPECT_EQ(run(program, items(4), 2), (std::vector<row>{swapped, back, swapped, back}));
}

// Both texts lie in the input batch, so the result shares its heap: what the state chooses must stay where it is.
TEST(state_program, chooses_between_texts_of_the_input) {
  program_text text({{"limit", "3"}, {"n", "0"}});
  text.set(1, "n + 1");
  text.emit({{"chosen", "if(x >= limit, name, name[0:2])"}, {"n", "n"}});
  state_program program = text.builder->build();
  const auto rows = items(500);
  std::vector<row> expected;
  for (uint64_t i = 0; i < rows.size(); ++i) {
    const std::string name = std::get<std::string>(rows[i][2]);
    expected.push_back({std::get<int64_t>(rows[i][1]) >= 3 ? name : name.substr(0, 2), i + 1});
  }
  EXPECT_EQ(run(program, rows, 500), expected);
  program.reset();
  EXPECT_EQ(run(program, rows, 7), expected);
}

TEST(state_program, starts_anew_with_each_group) {
  program_text text({{"best", "-1000"}, {"first", "''"}, {"n", "0"}});
  text.builder->reset_on_change({text.over("group")});
  text.set(0, "max(best, x)");
  text.set(1, "if(n == 0, name, first)");
  text.set(2, "n + 1");
  text.emit({{"group", "group"}, {"best", "best"}, {"first", "first"}, {"n", "n"}});
  state_program program = text.builder->build();
  const auto rows = items(2000);
  std::vector<row> expected;
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t start = i / 37 * 37;
    int64_t best = -1000;
    for (size_t k = start; k <= i; ++k) best = std::max(best, std::get<int64_t>(rows[k][1]));
    expected.push_back({rows[i][0], best, rows[start][2], static_cast<uint64_t>(i - start + 1)});
  }
  EXPECT_EQ(run(program, rows, 2000), expected);
  program.reset();
  EXPECT_EQ(run(program, rows, 101), expected);
}

TEST(state_program, groups_by_texts_and_several_keys) {
  program_text text(std::vector<std::pair<std::string, std::string>>{{"n", "0"}});
  text.builder->reset_on_change({text.over("name[0:2]"), text.over("x > 0")});
  text.set(0, "n + 1");
  text.emit({{"n", "n"}});
  state_program program = text.builder->build();
  const auto rows = items(1500);
  std::vector<row> expected;
  uint64_t n = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto key = [&](size_t k) {
      return std::pair(std::get<std::string>(rows[k][2]).substr(0, 2), std::get<int64_t>(rows[k][1]) > 0);
    };
    n = i > 0 && key(i) == key(i - 1) ? n + 1 : 1;
    expected.push_back({n});
  }
  EXPECT_EQ(run(program, rows, 64), expected);
}

TEST(state_program, emits_where_the_condition_holds) {
  // Rows that raise the maximum, with the text of the one before.
  program_text text({{"highest", "-1000"}, {"rises", "false"}, {"holder", "'nobody'"}, {"former", "''"}});
  text.set(1, "x > highest");
  text.set(3, "holder");
  text.set(0, "max(x, highest)");
  text.set(2, "if(rises, concat(name, '!'), holder)");
  text.builder->emit_when(text.over("rises"));
  text.emit({{"x", "x"}, {"former", "former"}, {"name", "name"}});
  state_program program = text.builder->build();
  const auto rows = items(4000);
  std::vector<row> expected;
  int64_t highest = -1000;
  std::string holder = "nobody";
  for (const row& r : rows) {
    const int64_t x = std::get<int64_t>(r[1]);
    if (x <= highest) continue;
    expected.push_back({x, holder, r[2]});
    highest = x;
    holder = std::get<std::string>(r[2]) + "!";
  }
  ASSERT_GT(expected.size(), 2u);
  EXPECT_EQ(run(program, rows, 4000), expected);
  program.reset();
  EXPECT_EQ(run(program, rows, 7), expected);
}

TEST(state_program, state_that_is_only_passed_on) {
  program_text text({{"last", "i64(7)"}, {"fixed", "3"}, {"word", "'w'"}});
  text.emit({{"before", "last"}, {"fixed", "fixed"}, {"word", "word"}, {"key", "group"}});
  text.set(0, "x");
  text.set(2, "word[0:1]");
  state_program program = text.builder->build();
  const auto rows = items(3);
  const std::vector<row> expected = {{int64_t{7}, uint64_t{3}, std::string("w"), rows[0][0]},
                                     {rows[0][1], uint64_t{3}, std::string("w"), rows[1][0]},
                                     {rows[1][1], uint64_t{3}, std::string("w"), rows[2][0]}};
  EXPECT_EQ(run(program, rows, 2), expected);
}

}  // namespace
}  // namespace flowrun::expr
