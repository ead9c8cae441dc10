#include "engine/kernels/word_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace flowrun::kernels {
namespace {

std::vector<uint64_t> random_numbers(uint64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> out(count);
  for (uint64_t& value : out) value = random();
  return out;
}

TEST(word_store, gives_back_blocks_as_they_are_used_up) {
  word_store<uint64_t> store(8, 16);
  std::vector<uint64_t> words(40);
  std::iota(words.begin(), words.end(), 100);
  auto a = store.store({words.data(), 40});
  auto b = store.store({words.data(), 32});
  EXPECT_EQ(store.num_free_blocks(), 3U);
  EXPECT_TRUE(store.has_room(16));
  EXPECT_FALSE(store.has_room(32));
  EXPECT_EQ(a[39], 139U);
  std::vector<uint64_t> taken(40);
  a.take(15, taken.data());
  EXPECT_EQ(store.num_free_blocks(), 3U);
  a.take(1, taken.data() + 15);
  EXPECT_EQ(store.num_free_blocks(), 4U);
  EXPECT_EQ(a[0], 116U);
  a.take(24, taken.data() + 16);
  EXPECT_EQ(taken, words);
  EXPECT_EQ(store.num_free_blocks(), 6U);
  b.take(32, taken.data());
  EXPECT_EQ(store.num_free_blocks(), 8U);
  EXPECT_EQ(store.num_words(), 0U);
}

TEST(word_store, compacts_what_is_left) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 50; ++round) {
    word_store<uint64_t> store(100, 8);
    std::vector<word_store<uint64_t>::sequence> sequences;
    std::vector<std::vector<uint64_t>> expected;
    for (int i = 0; i < 60; ++i) {
      const size_t num_words = random() % 50;
      if (store.has_room(num_words) && num_words > 0) {
        expected.push_back(random_numbers(num_words, random()));
        sequences.push_back(store.store(expected.back()));
      }
      const size_t which = random() % sequences.size();
      const size_t count = std::min<size_t>(random() % 30, sequences[which].num_words);
      std::vector<uint64_t> taken(count);
      sequences[which].take(count, taken.data());
      EXPECT_TRUE(std::equal(taken.begin(), taken.end(), expected[which].begin()));
      expected[which].erase(expected[which].begin(), expected[which].begin() + static_cast<std::ptrdiff_t>(count));
    }
    std::erase_if(expected, [](const auto& left) { return left.empty(); });
    std::vector<word_store<uint64_t>::extent> parts;
    const aligned_buffer buffer = store.compact(sequences, parts);
    ASSERT_EQ(parts.size(), expected.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      EXPECT_EQ(parts[i].first, i == 0 ? 0 : parts[i - 1].first + parts[i - 1].num_words);
      const auto* words = reinterpret_cast<const uint64_t*>(buffer.data()) + parts[i].first;
      EXPECT_EQ(std::vector<uint64_t>(words, words + parts[i].num_words), expected[i]);
    }
  }
}

}  // namespace
}  // namespace flowrun::kernels
