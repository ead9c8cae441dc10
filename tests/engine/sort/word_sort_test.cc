#include "engine/sort/word_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

namespace flowrun::sort {
namespace {

using record::word128;

template <class Word>
Word wide(uint64_t high, uint64_t low) {
  if constexpr (sizeof(Word) == 16) return static_cast<Word>(high) << 64 | low;
  return static_cast<Word>(high ^ low);
}

// Element i of n of each pattern.
template <class Word>
struct pattern {
  const char* name;
  std::function<Word(size_t i, size_t n, std::mt19937_64& random)> at;
};

template <class Word>
std::vector<pattern<Word>> patterns() {
  return {
      {"random", [](size_t, size_t, std::mt19937_64& r) { return wide<Word>(r(), r()); }},
      {"sorted", [](size_t i, size_t, std::mt19937_64&) { return wide<Word>(0, i); }},
      {"reversed", [](size_t i, size_t n, std::mt19937_64&) { return wide<Word>(0, n - i); }},
      {"organ pipe", [](size_t i, size_t n, std::mt19937_64&) { return wide<Word>(0, std::min(i, n - i)); }},
      {"saw", [](size_t i, size_t, std::mt19937_64&) { return wide<Word>(i % 7, i % 31); }},
      {"all equal", [](size_t, size_t, std::mt19937_64&) { return wide<Word>(3, 3); }},
      {"all zero", [](size_t, size_t, std::mt19937_64&) { return Word{0}; }},
      {"all ones", [](size_t, size_t, std::mt19937_64&) { return static_cast<Word>(~Word{0}); }},
      {"two values",
       [](size_t, size_t, std::mt19937_64& r) { return r() % 2 == 0 ? Word{0} : static_cast<Word>(~Word{0}); }},
      {"few values", [](size_t, size_t, std::mt19937_64& r) { return wide<Word>(r() % 3, r() % 3); }},
      {"high words only", [](size_t, size_t, std::mt19937_64& r) { return wide<Word>(r(), 0); }},
      {"low words only", [](size_t, size_t, std::mt19937_64& r) { return wide<Word>(0, r()); }},
      {"one high word, low words large",
       [](size_t, size_t, std::mt19937_64& r) { return wide<Word>(7, ~uint64_t{0} - r() % 1000); }},
      {"low descends as high ascends", [](size_t i, size_t n, std::mt19937_64&) { return wide<Word>(i / 16, n - i); }},
      {"high word 2^63 apart",
       [](size_t i, size_t, std::mt19937_64& r) { return wide<Word>((i % 2) << 63 | 1, r() << 63 | r() % 4); }},
      {"sorted but for the last",
       [](size_t i, size_t n, std::mt19937_64&) { return wide<Word>(1, i + 1 == n ? 0 : i + 1); }},
      {"sorted blocks", [](size_t i, size_t, std::mt19937_64&) { return wide<Word>(i % 64, i / 64); }},
      {"prefix and row number",
       [](size_t i, size_t, std::mt19937_64& r) { return wide<Word>(r() % 5, (r() % 3) << 32 | i); }},
  };
}

template <class Word>
void expect_sorts(const pattern<Word>& p, size_t num_words) {
  std::mt19937_64 random(num_words + 1);
  std::vector<Word> words(num_words);
  for (size_t i = 0; i < num_words; ++i) words[i] = p.at(i, num_words, random);
  std::vector<Word> expected = words;
  std::sort(expected.begin(), expected.end());
  sort_words(words.data(), words.size());
  ASSERT_TRUE(words == expected) << p.name << ", " << num_words << " words of " << sizeof(Word) << " bytes";
}

template <class Word>
class word_sort : public testing::Test {};
using word_types = testing::Types<uint64_t, word128>;
TYPED_TEST_SUITE(word_sort, word_types);

TYPED_TEST(word_sort, all_small_sizes) {
  for (const auto& p : patterns<TypeParam>())
    for (size_t n = 0; n <= 200; ++n) ASSERT_NO_FATAL_FAILURE(expect_sorts(p, n));
}

TYPED_TEST(word_sort, sizes_around_powers_of_two) {
  for (const auto& p : patterns<TypeParam>())
    for (size_t power = 256; power <= 16384; power *= 2)
      for (const size_t n : {power - 1, power, power + 1}) ASSERT_NO_FATAL_FAILURE(expect_sorts(p, n));
}

TYPED_TEST(word_sort, large) {
  for (const auto& p : patterns<TypeParam>()) ASSERT_NO_FATAL_FAILURE(expect_sorts(p, 300'007));
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
}  // namespace flowrun::sort
