// Random expressions, alone, behind filters and inside stateful programs, against their naive values.
#include "tests/engine/expr/random_expression.h"

#include <gtest/gtest.h>

#include "engine/expr/state_program.h"
#include "tests/support/sanitized.h"

namespace flowrun::expr {
namespace {

using testing::cell;
using testing::kind;
using testing::row;

constexpr kind kinds[] = {kind::u, kind::i, kind::f, kind::b, kind::s};

std::vector<row> random_rows(std::mt19937_64& random, size_t n) {
  std::vector<row> rows;
  for (size_t i = 0; i < n; ++i) rows.push_back(testing::random_row(random));
  return rows;
}

// Narrow results are stored narrow, texts of fixed length as bytes: what comes back equals the naive value all the
// same.
void expect_same(const cell& value, const cell& naive, const std::string& text) {
  ASSERT_TRUE(testing::same(value, naive))
      << text << "\nis " << testing::show(value) << ", not " << testing::show(naive);
}

TEST(random_expressions, equal_their_naive_values) {
  std::mt19937_64 random(11);
  const record::row_type type = testing::random_columns();
  for (int round = 0; round < 1500; ++round) {
    const auto rows = random_rows(random, 1 + random() % 60);
    const auto tree = testing::random_expression(random, kinds[random() % 5], 1 + static_cast<int>(random() % 5));
    const std::string text = testing::text_of(tree);
    const auto out = testing::evaluate_rows(text, type, testing::pack(type, rows));
    ASSERT_EQ(out.size(), rows.size()) << text;
    for (size_t r = 0; r < rows.size(); ++r)
      ASSERT_NO_FATAL_FAILURE(expect_same(out[r], testing::naive_value(tree, rows[r]), text));
  }
}

TEST(random_expressions, in_chains_of_filters_and_maps) {
  std::mt19937_64 random(12);
  const record::row_type type = testing::random_columns();
  record::batch_pool pool;
  size_t kept = 0;
  for (int round = 0; round < (sanitized ? 100 : 300); ++round) {
    const auto rows = random_rows(random, 1 + random() % 2500);
    row_program_builder builder(type);
    const auto over = [&](const testing::random_tree& tree) {
      scope names;
      names.row = &builder.current();
      return testing::compiled_ok(testing::text_of(tree), names);
    };
    const auto first = testing::random_expression(random, kind::b, 3),
               second = testing::random_expression(random, kind::b, 2);
    std::vector<testing::random_tree> results;
    for (uint64_t n = 1 + random() % 4; n-- > 0;)
      results.push_back(testing::random_expression(random, kinds[random() % 5], 3));
    builder.filter(over(first));
    // All columns stay under their names, in another order, between two filters.
    std::vector<std::pair<std::string, expression>> same;
    for (size_t c = type.num_columns(); c-- > 0;) same.push_back({type[c].name, column_expression(type, c)});
    if (round % 2 == 0) builder.map(same);
    builder.filter(over(second));
    std::vector<std::pair<std::string, expression>> columns;
    for (size_t k = 0; k < results.size(); ++k) columns.push_back({"r" + std::to_string(k), over(results[k])});
    builder.map(columns);
    const row_program program = builder.build();
    std::vector<record::batch> out;
    program.run(testing::pack(type, rows), 0, pool, out);
    const auto values = testing::unpack(program.output(), out);
    size_t at = 0;
    for (const row& r : rows) {
      if (std::get<uint64_t>(testing::naive_value(first, r)) == 0 ||
          std::get<uint64_t>(testing::naive_value(second, r)) == 0)
        continue;
      ASSERT_LT(at, values.size());
      for (size_t k = 0; k < results.size(); ++k)
        ASSERT_NO_FATAL_FAILURE(
            expect_same(values[at][k], testing::naive_value(results[k], r), testing::text_of(results[k])));
      ++at;
    }
    ASSERT_EQ(at, values.size());
    kept += at;
  }
  EXPECT_GT(kept, 10000u);
}

TEST(random_expressions, row_by_row_and_in_chunks_alike) {
  // Behind a state variable that is always 0 an expression runs in the row-at-a-time interpreter.
  std::mt19937_64 random(13);
  const record::row_type type = testing::random_columns();
  record::batch_pool pool;
  for (int round = 0; round < 300; ++round) {
    const auto rows = random_rows(random, 1 + random() % 1500);
    const kind wanted = kinds[random() % 5];
    const auto tree = testing::random_expression(random, wanted, 3);
    const std::string text = testing::text_of(tree);
    std::string replaced;  // column a as a + zero: the state reaches many places of the tree
    for (size_t i = 0; i < text.size(); ++i) {
      const auto is_word = [&](size_t k) {
        return k < text.size() &&
               (std::isalnum(static_cast<unsigned char>(text[k])) != 0 || text[k] == '_' || text[k] == '\'');
      };
      const bool alone = text[i] == 'a' && !is_word(i + 1) && (i == 0 || !is_word(i - 1));
      replaced += alone ? "(a + zero)" : std::string(1, text[i]);
    }
    scope names;
    names.row = &type;
    names.state = {{"zero", record::value_type::of(record::type_kind::u64)}};
    state_program_builder builder(type, names.state, {testing::compiled_ok("0", {})});
    builder.emit({{"r", testing::compiled_ok(replaced, names)}});
    builder.set(0, testing::compiled_ok("zero * 2", names));
    state_program program = builder.build();
    std::vector<record::batch> out;
    program.run(testing::pack(type, rows), 0, pool, out);
    const auto values = testing::unpack(program.output(), out);
    ASSERT_EQ(values.size(), rows.size());
    for (size_t r = 0; r < rows.size(); ++r)
      ASSERT_NO_FATAL_FAILURE(expect_same(values[r][0], testing::naive_value(tree, rows[r]), replaced));
  }
}

}  // namespace
}  // namespace flowrun::expr
