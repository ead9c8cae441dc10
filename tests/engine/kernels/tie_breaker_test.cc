#include "engine/kernels/tie_breaker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "tests/support/random_rows.h"

namespace flowrun::kernels {
namespace {

using record::batch;
using record::key;
using record::random_rows;
using record::row_place;
using record::type_of;
using record::word128;

const record::row_type lines = type_of({{"line", "string"}});

// Sorts as a run creator does, and by std::stable_sort.
void expect_ordered(const record::row_type& type, const key& by, const batch& rows) {
  const record::key_prefix prefix(type, by);
  const record::row_comparator comparator(type, by);
  const record::key_words words(type, by);
  std::vector<word128> entries(rows.num_rows);
  for (size_t i = 0; i < rows.num_rows; ++i) entries[i] = (prefix(rows.row(i), rows.heap) >> 32 << 32) | i;
  std::sort(entries.begin(), entries.end());
  auto row = [&](uint32_t number) { return row_place{rows.row(number), rows.heap}; };
  tie_breaker(words, row)(entries.data(), entries.size());

  std::vector<uint32_t> expected(rows.num_rows);
  std::iota(expected.begin(), expected.end(), 0U);
  std::stable_sort(expected.begin(), expected.end(), [&](uint32_t a, uint32_t b) {
    return comparator.compare(rows.row(a), rows.heap, rows.row(b), rows.heap) < 0;
  });
  for (size_t i = 0; i < rows.num_rows; ++i) {
    ASSERT_EQ(static_cast<uint32_t>(entries[i]), expected[i]) << i;
    ASSERT_TRUE(entries[i] >> 32 == prefix(rows.row(expected[i]), rows.heap) >> 32) << "the prefix is back in place";
  }
}

void expect_ordered(const std::vector<std::string>& texts) {
  record::batch_pool pool;
  record::batch_builder builder(lines, pool, record::rows_of_any_length(size_t{1} << 30));
  for (const std::string& text : texts) builder.put_string(builder.append(), text);
  const batch rows = builder.take();
  ASSERT_NO_FATAL_FAILURE(expect_ordered(lines, {{0, false, 0, 0}}, rows)) << "ascending";
  ASSERT_NO_FATAL_FAILURE(expect_ordered(lines, {{0, true, 0, 0}}, rows)) << "descending";
}

TEST(tie_breaker, random_strings_behind_common_fronts) {
  for (const size_t front : {0, 5, 11, 12, 13, 60, 300}) {
    for (const size_t max_bytes : {0, 1, 3, 25}) {
      for (const uint64_t distinct : {0, 50}) {
        random_rows source;
        source.distinct = distinct;
        source.string_prefix = std::string(front, 'p');
        source.max_string_bytes = max_bytes;
        for (const size_t num_rows : {0, 1, 2, 15, 16, 17, 3000}) {
          record::batch_pool pool;
          const batch rows = source.one_batch(lines, pool, num_rows);
          ASSERT_NO_FATAL_FAILURE(expect_ordered(lines, {{0, false, 0, 0}}, rows)) << front << " " << max_bytes;
          ASSERT_NO_FATAL_FAILURE(expect_ordered(lines, {{0, true, 0, 0}}, rows)) << front << " " << max_bytes;
        }
      }
    }
  }
}

TEST(tie_breaker, paths) {
  std::mt19937_64 random(7);
  std::vector<std::string> texts;
  for (int i = 0; i < 5000; ++i) {
    std::string path = "/usr/share";
    for (uint64_t depth = random() % 12; depth > 0; --depth) path += "/directory" + std::to_string(random() % 3);
    texts.push_back(path);
  }
  expect_ordered(texts);
}

// The rows that are looked at first, evenly spread, all agree; one in between doesn't.
TEST(tie_breaker, a_row_that_differs_earlier_than_the_samples) {
  std::vector<std::string> texts(1000, std::string(100, 'x'));
  for (size_t i = 0; i < texts.size(); i += 3) texts[i] += std::to_string(i % 7);
  for (const size_t odd : {1, 77, 998}) {
    texts[odd][40] = 'w';
    texts[odd + 1][30] = 'y';
    expect_ordered(texts);
  }
}

TEST(tie_breaker, equal_keys_keep_their_order) {
  expect_ordered(std::vector<std::string>(4000, std::string(500, 'e')));
  expect_ordered(std::vector<std::string>(4000, ""));
}

// Each key is the front of the next: as many levels as rows.
TEST(tie_breaker, keys_that_are_the_front_of_others) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < 600; ++i) texts.emplace_back(i * 7 % 600 * 4, '\0');
  expect_ordered(texts);
  for (std::string& text : texts) std::fill(text.begin(), text.end(), '\xFF');
  expect_ordered(texts);
}

// As many places where rows part as there are rows; with a level for each, that takes a minute.
TEST(tie_breaker, keys_that_part_from_the_others_one_after_the_other) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < 2500; ++i)
    texts.push_back(std::string(11 * (i * 7 % 2500), 'k') + (i % 3 == 0 ? "z" : "b") + std::to_string(i % 2));
  expect_ordered(texts);
  for (size_t i = 0; i < 60; ++i) texts.push_back(texts[40 * i]);
  for (size_t i = 0; i < 60; ++i) texts.push_back(texts[40 * i] + std::string(i, 'x'));
  expect_ordered(texts);
}

// Random texts of two letters in front of which others lie, so that both ways to order a group follow each other.
TEST(tie_breaker, groups_in_which_most_rows_stay_together) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::string> texts;
    for (int i = 0; i < 800; ++i) {
      std::string text = std::string(random() % 5 * 11, 'm') + std::string(random() % 12, 'm');
      while (random() % 4 > 0) text += "ammmmmmmmmmz"[random() % 12];
      texts.push_back(text);
    }
    expect_ordered(texts);
  }
}

TEST(tie_breaker, several_columns_with_few_values) {
  const record::row_type type =
      type_of({{"a", "u64"}, {"b", "i64"}, {"c", "bytes[30]"}, {"s", "string"}, {"d", "f64"}, {"t", "string"}});
  random_rows source;
  for (const uint64_t distinct : {1, 2, 10}) {
    source.distinct = distinct;
    record::batch_pool pool;
    const batch rows = source.one_batch(type, pool, 4000);
    ASSERT_NO_FATAL_FAILURE(expect_ordered(type, {{0, false, 0, 0}, {1, true, 0, 0}, {2, false, 0, 0}}, rows));
    ASSERT_NO_FATAL_FAILURE(expect_ordered(type, {{3, true, 0, 0}, {0, false, 0, 0}, {5, false, 0, 0}}, rows));
    ASSERT_NO_FATAL_FAILURE(expect_ordered(type, {{2, true, 3, 20}, {4, true, 0, 0}, {1, false, 0, 0}}, rows));
  }
}

}  // namespace
}  // namespace flowrun::kernels
