#include "engine/sort/word_sort.h"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>

namespace flowrun::sort {

namespace {

template <class Word>
bool is_ascending(const Word* words, size_t num_words) {
  // Counts in chunks instead of leaving early, so that the loop vectorises.
  constexpr size_t chunk = 4096;
  for (size_t first = 1; first < num_words; first += chunk) {
    const size_t last = std::min(first + chunk, num_words);
    size_t descents = 0;
    for (size_t i = first; i < last; ++i) descents += words[i] < words[i - 1] ? 1 : 0;
    if (descents != 0) return false;
  }
  return true;
}

constexpr size_t small = 32;  // below this the dispatch costs more than the sort

}  // namespace

void sort_words(uint64_t* words, size_t num_words) {
  if (num_words <= small) return std::sort(words, words + num_words);
  hwy::Sorter sorter;
  sorter(words, num_words, hwy::SortAscending());
  if (!is_ascending(words, num_words)) std::sort(words, words + num_words);
}

void sort_words(record::word128* words, size_t num_words) {
  if (num_words <= small) return std::sort(words, words + num_words);
  static_assert(sizeof(hwy::uint128_t) == sizeof(record::word128));
  hwy::Sorter sorter;
  sorter(reinterpret_cast<hwy::uint128_t*>(words), num_words, hwy::SortAscending());
  if (!is_ascending(words, num_words)) std::sort(words, words + num_words);
}

}  // namespace flowrun::sort
