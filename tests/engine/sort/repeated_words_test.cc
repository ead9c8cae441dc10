// What windows of ascending sequences tell of the words that they have in common.

#include "engine/sort/repeated_words.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>

namespace flowrun::sort {
namespace {

// Sequences of `num_words` different words each, of which about `shared` are words of one pool that all draw from.
std::deque<std::vector<uint64_t>> draw(size_t num_sequences, size_t num_words, double shared) {
  std::mt19937_64 random(7);
  std::vector<uint64_t> pool(num_words);
  for (uint64_t& word : pool) word = random();
  std::deque<std::vector<uint64_t>> out;
  for (size_t i = 0; i < num_sequences; ++i) {
    std::set<uint64_t> words;
    for (const uint64_t word : pool)
      words.insert(static_cast<double>(random() % 1000) < shared * 1000 ? word : random());
    out.emplace_back(words.begin(), words.end());
  }
  return out;
}

bool told(const std::deque<std::vector<uint64_t>>& sequences) {
  std::deque<kernels::word_span<uint64_t>> spans;
  for (const auto& s : sequences) spans.push_back({s.data(), s.size()});
  return repeat_little(spans);
}

TEST(repeated_words, are_few_or_many) {
  for (const size_t num_sequences : {2, 5, 8}) {
    EXPECT_TRUE(told(draw(num_sequences, 20'000, 0)));
    EXPECT_TRUE(told(draw(num_sequences, 20'000, 0.1)));
    EXPECT_FALSE(told(draw(num_sequences, 20'000, 0.7)));
    EXPECT_FALSE(told(draw(num_sequences, 20'000, 1)));
  }
}

TEST(repeated_words, of_short_sequences) {
  EXPECT_TRUE(told({{1}, {1}}));  // no window tells
  EXPECT_TRUE(told({{1, 3, 5, 7}, {2, 4, 6, 8}}));
  EXPECT_FALSE(told({{1, 3, 5, 7}, {1, 3, 5, 7}}));
  EXPECT_TRUE(told({{1, 2, 3}, {10, 11, 12}}));
}

// Only what others have between the words of a window is looked at, and not all of that.
TEST(repeated_words, where_others_are_denser) {
  std::vector<uint64_t> sparse, dense;
  for (uint64_t i = 0; i < 1000; ++i) sparse.push_back(i * 1000);
  for (uint64_t i = 0; i < 1'000'000; ++i) dense.push_back(i);
  EXPECT_TRUE(told({sparse, dense}));
  EXPECT_FALSE(told({dense, dense}));
}

}  // namespace
}  // namespace flowrun::sort
