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
      {"descends with repetitions", [](size_t i, size_t n, std::mt19937_64&) { return wide<Word>(0, (n - i) / 3); }},
      {"valley", [](size_t i, size_t n, std::mt19937_64&) { return wide<Word>(0, i < n / 2 ? n - i : i); }},
      {"two runs, interleaved values",
       [](size_t i, size_t n, std::mt19937_64&) { return wide<Word>(0, i < n / 2 ? 2 * i : 2 * (i - n / 2) + 1); }},
      {"two runs, the second below the first",
       [](size_t i, size_t n, std::mt19937_64&) { return wide<Word>(0, i < n / 2 ? n + i : i); }},
      {"three runs, one of them descending",
       [](size_t i, size_t n, std::mt19937_64&) {
         const size_t third = n / 3 + 1;
         return wide<Word>(0, i / third == 1 ? 2 * third - i : i % third * (i / third + 1));
       }},
      {"eight runs", [](size_t i, size_t n, std::mt19937_64&) { return wide<Word>(i % (n / 8 + 1), i / (n / 8 + 1)); }},
      {"nine runs", [](size_t i, size_t n, std::mt19937_64&) { return wide<Word>(i % (n / 9 + 1), i / (n / 9 + 1)); }},
      {"a long run, then random",
       [](size_t i, size_t n, std::mt19937_64& r) { return wide<Word>(0, i < n / 2 ? i : r() % n); }},
      {"random, then a long run",
       [](size_t i, size_t n, std::mt19937_64& r) { return wide<Word>(0, i < n / 16 ? r() % n : i); }},
      {"one word in a hundred out of order",
       [](size_t i, size_t n, std::mt19937_64& r) { return wide<Word>(0, r() % 100 == 0 ? r() % n : i); }},
      {"one word in a thousand too large",
       [](size_t i, size_t n, std::mt19937_64& r) { return wide<Word>(0, r() % 1000 == 0 ? n + r() % n : i); }},
      {"one word in a thousand too small",
       [](size_t i, size_t, std::mt19937_64& r) { return wide<Word>(0, r() % 1000 == 0 ? r() % 7 : 10 + i); }},
      {"some words in a row too large",
       [](size_t i, size_t n, std::mt19937_64&) { return wide<Word>(0, i % 1000 < 6 ? n + i % 7 : i); }},
      {"descends but for some",
       [](size_t i, size_t n, std::mt19937_64& r) { return wide<Word>(0, r() % 300 == 0 ? r() % n : n - i); }},
      {"neighbours exchanged",
       [](size_t i, size_t, std::mt19937_64&) { return wide<Word>(0, i % 20 < 2 ? i ^ 1 : i); }},
      {"each within ten of its place",
       [](size_t i, size_t, std::mt19937_64& r) { return wide<Word>(0, i + r() % 10); }},
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
}  // namespace flowrun::sort
