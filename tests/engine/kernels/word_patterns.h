// Orders in which words may come, for tests of sorting them.
#pragma once

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "engine/record/key.h"

namespace flowrun::kernels {

using record::word128;

template <class Word>
Word wide(uint64_t high, uint64_t low) {
  if constexpr (sizeof(Word) == 16) return static_cast<Word>(high) << 64 | low;
  return static_cast<Word>(high ^ low);
}

// Element i of n of each pattern.
template <class Word>
struct word_pattern {
  const char* name;
  std::function<Word(size_t i, size_t n, std::mt19937_64& random)> at;
};

template <class Word>
std::vector<word_pattern<Word>> word_patterns() {
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
      // Leading bits that words have in common, at every place of the word.
      {"a cluster beside a few far away",
       [](size_t, size_t, std::mt19937_64& r) {
         return r() % 1000 == 0 ? wide<Word>(r(), r()) : wide<Word>(uint64_t{1} << 40, r() % 100'000);
       }},
      {"clusters within clusters",
       [](size_t, size_t, std::mt19937_64& r) {
         const unsigned depth = static_cast<unsigned>(r() % 127);
         const Word word = wide<Word>(r(), r());
         return static_cast<Word>(depth / 8 >= sizeof(Word) ? 0 : word >> depth);
       }},
      {"bits on both sides of the middle",
       [](size_t, size_t, std::mt19937_64& r) { return wide<Word>(r() % 256, (r() % 256) << 56 | (r() % 3)); }},
      {"on both sides of a power of two",
       [](size_t, size_t, std::mt19937_64& r) {
         const unsigned power = 8 * sizeof(Word) - 2, spread = power / 2 + 10;
         return static_cast<Word>((Word{1} << power) - (Word{1} << spread) +
                                  (wide<Word>(r(), r()) >> (power - spread)));
       }},
      {"on both sides of the middle, and the ends",
       [](size_t i, size_t, std::mt19937_64& r) {
         const Word middle = Word{1} << (8 * sizeof(Word) - 1);
         const Word near = static_cast<Word>(middle + r() % 100'000 - 50'000);
         return i % 5000 == 0 ? Word{0} : i % 5001 == 0 ? static_cast<Word>(~Word{0}) : near;
       }},
      {"prefix and row number",
       [](size_t i, size_t, std::mt19937_64& r) { return wide<Word>(r() % 5, (r() % 3) << 32 | i); }},
  };
}

template <class Word>
std::vector<Word> words_of(const word_pattern<Word>& p, size_t num_words) {
  std::mt19937_64 random(num_words + 1);
  std::vector<Word> words(num_words);
  for (size_t i = 0; i < num_words; ++i) words[i] = p.at(i, num_words, random);
  return words;
}

}  // namespace flowrun::kernels
