#include "engine/kernels/offset_value_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "engine/kernels/loser_tree.h"
#include "tests/support/random_rows.h"

namespace flowrun::kernels {
namespace {

using record::batch;
using record::key;
using record::key_words;
using record::random_rows;
using record::row_place;
using record::type_of;
using record::word128;
using record::word_position;

const record::row_type lines = type_of({{"line", "string"}});

// Counts how many words of keys are compared with each other.
struct counting_words {
  const key_words& words;
  mutable uint64_t num_compared = 0;

  bool is_end(const word_position& p) const { return words.is_end(p); }
  word128 operator()(const row_place& row, const word_position& p) const { return words(row, p); }
  word_position next(const row_place& row, const word_position& p) const { return words.next(row, p); }
  word_position at(const row_place& row, size_t number) const { return words.at(row, number); }
  word_position difference(const row_place& a, const row_place& b, const word_position& from = {}) const {
    const word_position p = words.difference(a, b, from);
    num_compared += p.number - from.number + (words.is_end(p) ? 0 : 1);
    return p;
  }
};

struct merged_rows {
  std::vector<uint32_t> order;        // row numbers
  std::vector<bool> repeats;          // by place in the order: its key is that of the row before
  uint64_t num_compared_in_runs = 0;  // words, of a row and the row before it
  uint64_t num_compared_in_ties = 0;
  uint64_t num_ties = 0;
};

// Merges runs of ascending rows of a batch, stably.
merged_rows merge_coded(const record::row_type& type, const key& by, const batch& rows,
                        const std::vector<std::vector<uint32_t>>& runs) {
  const key_words words(type, by);
  const counting_words of_runs{words}, of_ties{words};
  const offset_value_coder<counting_words> run_coder(of_runs), tie_coder(of_ties);
  std::vector<size_t> at(runs.size(), 0);
  merged_rows out;
  auto row = [&](uint32_t number) { return row_place{rows.row(number), rows.heap}; };
  auto head = [&](uint32_t run) { return row(runs[run][at[run]]); };
  auto tie = [&](uint32_t a, uint32_t b, word128& code) {
    ++out.num_ties;
    const int order = tie_coder.compare(head(a), head(b), code);
    return order != 0 ? order < 0 : a < b;
  };
  loser_tree<word128, decltype(tie)> tree(runs.size(), tie);
  for (uint32_t r = 0; r < runs.size(); ++r)
    if (!runs[r].empty()) tree.set(r, run_coder.first(head(r)));
  tree.start();
  while (tree.winner() != tree.none) {
    const uint32_t r = tree.winner();
    out.order.push_back(runs[r][at[r]]);
    out.repeats.push_back(run_coder.is_equal(tree.winner_key()));
    if (++at[r] == runs[r].size()) {
      tree.replay_exhausted();
    } else {
      tree.replay(run_coder.relative(head(r), row(runs[r][at[r] - 1])));
    }
  }
  out.num_compared_in_runs = of_runs.num_compared;
  out.num_compared_in_ties = of_ties.num_compared;
  return out;
}

// Deals the rows to runs in input order, as a run creator does, sorts these, merges, and compares with
// std::stable_sort. `max_words`: of one key.
merged_rows expect_merged(const record::row_type& type, const key& by, const batch& rows, size_t num_runs) {
  const record::row_comparator comparator(type, by);
  const key_words words(type, by);
  auto less = [&](uint32_t a, uint32_t b) {
    return comparator.compare(rows.row(a), rows.heap, rows.row(b), rows.heap) < 0;
  };
  std::vector<std::vector<uint32_t>> runs(num_runs);
  std::vector<uint32_t> expected(rows.num_rows);
  std::iota(expected.begin(), expected.end(), 0U);
  for (uint32_t i = 0; i < rows.num_rows; ++i) runs[size_t{i} * num_runs / rows.num_rows].push_back(i);
  for (auto& run : runs) std::stable_sort(run.begin(), run.end(), less);
  std::stable_sort(expected.begin(), expected.end(), less);

  const merged_rows result = merge_coded(type, by, rows, runs);
  EXPECT_EQ(result.order, expected);
  uint64_t num_words = 0;
  for (uint32_t i = 0; i < rows.num_rows; ++i) {
    const row_place row{rows.row(i), rows.heap};
    for (word_position p; !words.is_end(p); p = words.next(row, p)) ++num_words;
    const bool repeats = i > 0 && !less(expected[i - 1], expected[i]);
    EXPECT_EQ(result.repeats[i], repeats) << i;
    if (testing::Test::HasFailure()) break;
  }
  // The codes' promise: each word of each key takes part once in the tree and once along its run.
  EXPECT_LE(result.num_compared_in_ties, num_words);
  EXPECT_LE(result.num_compared_in_runs, num_words);
  return result;
}

void expect_merged_all_ways(const record::row_type& type, const key& by, const batch& rows) {
  for (const size_t num_runs : {1, 2, 3, 7, 16, 50}) {
    expect_merged(type, by, rows, num_runs);
    ASSERT_FALSE(testing::Test::HasFailure()) << num_runs << " runs";
  }
}

batch batch_of(record::batch_pool& pool, const std::vector<std::string>& texts) {
  record::batch_builder builder(lines, pool, record::rows_of_any_length(size_t{1} << 30));
  for (const std::string& text : texts) builder.put_string(builder.append(), text);
  return builder.take();
}

void expect_merged_all_ways(const std::vector<std::string>& texts) {
  record::batch_pool pool;
  const batch rows = batch_of(pool, texts);
  ASSERT_NO_FATAL_FAILURE(expect_merged_all_ways(lines, {{0, false, 0, 0}}, rows)) << "ascending";
  ASSERT_NO_FATAL_FAILURE(expect_merged_all_ways(lines, {{0, true, 0, 0}}, rows)) << "descending";
}

TEST(offset_value_code, random_strings_behind_common_fronts) {
  for (const size_t front : {0, 10, 11, 12, 100}) {
    for (const size_t max_bytes : {0, 1, 4, 40}) {
      for (const uint64_t distinct : {0, 30}) {
        random_rows source;
        source.distinct = distinct;
        source.string_prefix = std::string(front, 'p');
        source.max_string_bytes = max_bytes;
        record::batch_pool pool;
        const batch rows = source.one_batch(lines, pool, 500);
        ASSERT_NO_FATAL_FAILURE(expect_merged_all_ways(lines, {{0, false, 0, 0}}, rows)) << front << " " << max_bytes;
        ASSERT_NO_FATAL_FAILURE(expect_merged_all_ways(lines, {{0, true, 0, 0}}, rows)) << front << " " << max_bytes;
      }
    }
  }
}

TEST(offset_value_code, keys_that_are_the_front_of_others) {
  for (const char filler : {'\0', 'x', '\xFF'}) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < 400; ++i) texts.emplace_back(i * 7 % 200, filler);
    expect_merged_all_ways(texts);
  }
}

TEST(offset_value_code, fewer_rows_than_runs) {
  expect_merged_all_ways({});
  expect_merged_all_ways({""});
  expect_merged_all_ways({"b", "", "a", "b", ""});
}

TEST(offset_value_code, several_columns_with_few_values) {
  const record::row_type type =
      type_of({{"a", "u64"}, {"b", "i64"}, {"c", "bytes[30]"}, {"s", "string"}, {"d", "f64"}, {"t", "string"}});
  for (const uint64_t distinct : {1, 2, 10, 0}) {
    random_rows source;
    source.distinct = distinct;
    record::batch_pool pool;
    const batch rows = source.one_batch(type, pool, 1000);
    for (const key& by : std::vector<key>{{{0, false, 0, 0}, {1, true, 0, 0}, {2, false, 0, 0}},
                                          {{3, true, 0, 0}, {0, false, 0, 0}, {5, false, 0, 0}},
                                          {{5, false, 0, 0}, {3, true, 0, 0}, {2, true, 3, 20}, {4, true, 0, 0}}})
      ASSERT_NO_FATAL_FAILURE(expect_merged_all_ways(type, by, rows)) << distinct;
  }
}

// Without codes each of the n log2 k matches would read the 200 words that most keys have in common.
TEST(offset_value_code, long_common_fronts_are_read_once_a_row) {
  std::mt19937_64 random(3);
  std::vector<std::string> texts;
  for (int i = 0; i < 2000; ++i) texts.push_back(std::string(200 * 11, 'c') + std::to_string(random() % 100'000'000));
  record::batch_pool pool;
  const batch rows = batch_of(pool, texts);
  const merged_rows result = expect_merged(lines, {{0, false, 0, 0}}, rows, 64);
  EXPECT_LE(result.num_compared_in_runs, 2000U * 202);
  // Only at the start, when all heads are compared with each other, are common words read in the tree.
  EXPECT_LE(result.num_compared_in_ties, 63U * 202 + 2000U);
}

// All keys are equal: codes say so by themselves.
TEST(offset_value_code, equal_keys_are_compared_along_their_runs_only) {
  record::batch_pool pool;
  const batch rows = batch_of(pool, std::vector<std::string>(1000, std::string(500, 'e')));
  const merged_rows result = expect_merged(lines, {{0, false, 0, 0}}, rows, 16);
  EXPECT_LE(result.num_compared_in_ties, 15U * 46);
  EXPECT_GE(result.num_ties, 1000U);  // by source
  EXPECT_EQ(std::count(result.repeats.begin(), result.repeats.end(), true), 999);
}

TEST(offset_value_code, the_example_in_its_header) {
  record::batch_pool pool;
  const std::string common = "/usr/share/0123456789";
  const batch rows = batch_of(pool, {common + "doc/a", common + "man/x", common + "zoo", common + "doc/b"});
  const key_words words(lines, {{0, false, 0, 0}});
  const offset_value_coder<key_words> coder(words);
  auto row = [&](size_t i) { return row_place{rows.row(i), rows.heap}; };
  const word128 x = coder.relative(row(1), row(0)), y = coder.relative(row(2), row(0)),
                z = coder.relative(row(3), row(0));
  EXPECT_TRUE(z < x && x < y);
  EXPECT_TRUE(coder.relative(row(2), row(1)) == y);
  EXPECT_TRUE(coder.relative(row(1), row(3)) == x);
  EXPECT_TRUE(coder.is_equal(coder.relative(row(1), row(1))));
  EXPECT_FALSE(coder.is_equal(coder.first(row(1))));
}

}  // namespace
}  // namespace flowrun::kernels
