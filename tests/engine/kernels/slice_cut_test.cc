#include "engine/kernels/slice_cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "engine/kernels/word_sort.h"

namespace flowrun::kernels {
namespace {

TEST(slice_cut, slices_ascend_and_fit_also_when_sequences_are_many) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::vector<uint64_t>> owned(1 + random() % 40);
    std::vector<word_span<uint64_t>> sequences;
    std::vector<uint64_t> all, got;
    for (auto& words : owned) {
      for (size_t n = random() % 60; n > 0; --n) words.push_back(random() % (1 + random() % 50));
      std::sort(words.begin(), words.end());
      all.insert(all.end(), words.begin(), words.end());
      sequences.push_back({words.data(), words.size()});
    }
    std::sort(all.begin(), all.end());
    const size_t max_words = 1 + random() % 100;
    std::vector<uint64_t> slice(max_words);
    for (size_t n; (n = cut_slice(sequences, max_words, slice.data())) > 0;) {
      ASSERT_LE(n, max_words);
      sort_words(slice.data(), n);
      got.insert(got.end(), slice.begin(), slice.begin() + static_cast<std::ptrdiff_t>(n));
    }
    EXPECT_EQ(got, all);
  }
}

}  // namespace
}  // namespace flowrun::kernels
