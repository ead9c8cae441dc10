#include "engine/kernels/word_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "tests/engine/kernels/word_patterns.h"

namespace flowrun::kernels {
namespace {

template <class Word>
void expect_sorts(const word_pattern<Word>& p, size_t num_words) {
  std::vector<Word> words = words_of(p, num_words);
  std::vector<Word> expected = words;
  std::sort(expected.begin(), expected.end());
  sort_words(words.data(), words.size());
  ASSERT_TRUE(words == expected) << p.name << ", " << num_words << " words of " << sizeof(Word) << " bytes";
}

template <class Word>
class word_sort : public testing::Test {};
using word_types = testing::Types<uint32_t, uint64_t, word128>;
TYPED_TEST_SUITE(word_sort, word_types);

TYPED_TEST(word_sort, all_small_sizes) {
  for (const auto& p : word_patterns<TypeParam>())
    for (size_t n = 0; n <= 200; ++n) ASSERT_NO_FATAL_FAILURE(expect_sorts(p, n));
}

TYPED_TEST(word_sort, sizes_around_powers_of_two) {
  for (const auto& p : word_patterns<TypeParam>())
    for (size_t power = 256; power <= 16384; power *= 2)
      for (const size_t n : {power - 1, power, power + 1}) ASSERT_NO_FATAL_FAILURE(expect_sorts(p, n));
}

// More than fit the room of a sorting thread.
TYPED_TEST(word_sort, large) {
  constexpr size_t num_words = 2'400'000 / sizeof(TypeParam) + 7;
  for (const auto& p : word_patterns<TypeParam>()) ASSERT_NO_FATAL_FAILURE(expect_sorts(p, num_words));
}

// Merges of runs that are longer than the room beside the words are cut into smaller ones.
TYPED_TEST(word_sort, few_runs_longer_than_the_room_for_merging) {
  std::mt19937_64 random(5);
  for (const size_t num_runs : {size_t{2}, size_t{3}, size_t{6}, size_t{8}}) {
    std::vector<TypeParam> words(1'000'003);
    for (TypeParam& word : words) word = wide<TypeParam>(random() % 5, random() % 300'000);
    const size_t length = words.size() / num_runs + 1;
    for (size_t first = 0; first < words.size(); first += length) {
      const auto from = words.begin() + static_cast<std::ptrdiff_t>(first);
      const auto to = words.begin() + static_cast<std::ptrdiff_t>(std::min(first + length, words.size()));
      if (first % 2 == 0)
        std::sort(from, to);
      else
        std::sort(from, to, std::greater<>());
    }
    std::vector<TypeParam> expected = words;
    std::sort(expected.begin(), expected.end());
    sort_words(words.data(), words.size());
    ASSERT_TRUE(words == expected) << num_runs;
  }
}

TYPED_TEST(word_sort, two_words_exchanged_anywhere) {
  constexpr size_t n = 2000;
  std::mt19937_64 random(6);
  for (int round = 0; round < 500; ++round) {
    std::vector<TypeParam> expected(n);
    for (size_t i = 0; i < n; ++i) expected[i] = wide<TypeParam>(i / 64, i);
    std::sort(expected.begin(), expected.end());
    std::vector<TypeParam> words = expected;
    for (int pair = 0; pair <= round % 12; ++pair) std::swap(words[random() % n], words[random() % n]);
    if (round % 2 == 1) std::reverse(words.begin(), words.end());
    sort_words(words.data(), n);
    ASSERT_TRUE(words == expected) << round;
  }
}

// Where a median of samples is drawn from equal or nearly equal words (google/highway, reports on 128-bit keys).
TYPED_TEST(word_sort, one_word_apart_from_many_equal_ones) {
  std::mt19937_64 random(9);
  for (size_t n : {size_t{33}, size_t{100}, size_t{1000}, size_t{5000}}) {
    for (int round = 0; round < 60; ++round) {
      const TypeParam common = wide<TypeParam>(round % 2 == 0 ? ~uint64_t{0} : 1, round % 3 == 0 ? ~uint64_t{0} : 0);
      std::vector<TypeParam> words(n, common);
      const size_t num_others = 1 + random() % 3;
      for (size_t i = 0; i < num_others; ++i) words[random() % n] = wide<TypeParam>(random() % 3, random() % 3);
      std::vector<TypeParam> expected = words;
      std::sort(expected.begin(), expected.end());
      sort_words(words.data(), n);
      ASSERT_TRUE(words == expected) << n << " " << round;
    }
  }
}

// Values chosen so that a fixed sampling of the front, middle and back picks the extremes.
TYPED_TEST(word_sort, extremes_where_samples_are_taken) {
  for (size_t n : {size_t{512}, size_t{4096}, size_t{50'000}}) {
    std::mt19937_64 random(n);
    std::vector<TypeParam> words(n);
    for (size_t i = 0; i < n; ++i) {
      const bool sampled = i % 64 < 8 || i < 256 || n - i < 256;
      words[i] = sampled ? wide<TypeParam>(~uint64_t{0}, ~random() % 16) : wide<TypeParam>(random() % 1000, random());
    }
    std::vector<TypeParam> expected = words;
    std::sort(expected.begin(), expected.end());
    sort_words(words.data(), n);
    ASSERT_TRUE(words == expected) << n;
  }
}

}  // namespace
}  // namespace flowrun::kernels
