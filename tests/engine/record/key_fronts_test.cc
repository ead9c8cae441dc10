// Words of keys against comparisons of rows.
#include "engine/record/key_fronts.h"

#include <gtest/gtest.h>

#include "tests/support/random_rows.h"

namespace flowrun::record {
namespace {

// Whether words decide as the rows' comparison does, and equal words say what `exact` promises.
void expect_agrees(const row_type& type, const key& by, const batch& rows) {
  const key_fronts fronts(type, by);
  const row_comparator compare(type, by);
  std::vector<uint64_t> words;
  fronts.compute(rows, words);
  ASSERT_EQ(words.size(), rows.num_rows);
  for (size_t i = 0; i + 1 < rows.num_rows; ++i) {
    const int order = compare.compare(rows.row(i), rows.heap, rows.row(i + 1), rows.heap);
    if (words[i] != words[i + 1]) {
      ASSERT_EQ(words[i] < words[i + 1], order < 0) << i;
    } else if (fronts.exact()) {
      ASSERT_EQ(order, 0) << i;
    }
  }
}

TEST(key_fronts, decide_as_comparisons_do) {
  batch_pool pool;
  random_rows source;
  const row_type type = type_of({{"a", "u8"},
                                 {"b", "i16"},
                                 {"c", "u24"},
                                 {"d", "f32"},
                                 {"e", "u40"},
                                 {"f", "f64"},
                                 {"g", "string"},
                                 {"h", "bytes[3]"},
                                 {"i", "bytes[11]"},
                                 {"j", "bool"},
                                 {"k", "i64"},
                                 {"l", "u48"}});
  for (int round = 0; round < 300; ++round) {
    source.distinct = round % 3 == 0 ? 0 : 3;
    const batch rows = source.one_batch(type, pool, 200);
    key by;
    for (uint64_t n = 1 + source.below(4); n > 0; --n)
      by.push_back({source.below(type.num_columns()), source.below(2) == 1, 0, 0});
    if (by[0].column == 8 && source.below(2) == 1) by[0] = {8, by[0].descending, 2, 5};
    expect_agrees(type, by, rows);
    if (HasFatalFailure()) return;
  }
}

TEST(key_fronts, are_exact_where_the_whole_key_fits) {
  const row_type type = type_of({{"a", "u32"}, {"b", "u32"}, {"c", "u8"}, {"s", "string"}, {"x", "bytes[9]"}});
  EXPECT_TRUE(key_fronts(type, {{0}, {1}}).exact());
  EXPECT_FALSE(key_fronts(type, {{0}, {1}, {2}}).exact());
  EXPECT_FALSE(key_fronts(type, {{3}}).exact());
  EXPECT_FALSE(key_fronts(type, {{4}}).exact());
  EXPECT_TRUE(key_fronts(type, {{4, false, 1, 8}}).exact());
  EXPECT_TRUE(key_fronts(type, {}).exact());
}

}  // namespace
}  // namespace flowrun::record
