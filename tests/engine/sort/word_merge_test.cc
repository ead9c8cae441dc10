// Ascending sequences of words, merged by the tree: against std::sort, whole and in portions.

#include "engine/sort/word_merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "engine/record/key.h"

namespace flowrun::sort {
namespace {

using record::word128;

template <class Word>
class word_merge_of : public testing::Test {};
using words = testing::Types<uint64_t, word128>;
TYPED_TEST_SUITE(word_merge_of, words);

template <class Word>
struct sequences_of_words {
  std::vector<std::vector<Word>> sequences;
  std::vector<Word> expected;

  std::vector<word_span<Word>> spans() const {
    std::vector<word_span<Word>> out;
    for (const std::vector<Word>& s : sequences) out.push_back({s.data(), s.size()});
    return out;
  }
};

// `distinct`: 0 for all values, the largest one included.
template <class Word>
sequences_of_words<Word> make(size_t num_sequences, size_t most_words, uint64_t distinct, uint64_t seed) {
  std::mt19937_64 random(seed);
  sequences_of_words<Word> out;
  for (size_t i = 0; i < num_sequences; ++i) {
    std::vector<Word> s(random() % (most_words + 1));
    for (Word& word : s) {
      if (distinct > 0) {
        word = random() % distinct;
      } else {
        word = random();
        if constexpr (sizeof(Word) > 8) word = word << 64 | random();
        if (random() % 50 == 0) word = static_cast<Word>(~Word{0});
      }
    }
    std::sort(s.begin(), s.end());
    out.expected.insert(out.expected.end(), s.begin(), s.end());
    out.sequences.push_back(std::move(s));
  }
  std::sort(out.expected.begin(), out.expected.end());
  return out;
}

TYPED_TEST(word_merge_of, many_sequences_is_their_sort) {
  uint64_t seed = 0;
  for (const size_t num_sequences : {0, 1, 2, 3, 7, 8, 16, 33}) {
    for (const size_t most_words : {0, 1, 5, 400}) {
      for (const uint64_t distinct : {0, 1, 20}) {
        const auto in = make<TypeParam>(num_sequences, most_words, distinct, ++seed);
        std::vector<TypeParam> out(in.expected.size() + 1);
        word_merge<TypeParam> merge(in.spans());
        ASSERT_EQ(merge.take(out.data(), out.size()), in.expected.size());
        out.pop_back();
        EXPECT_TRUE(out == in.expected) << num_sequences << " sequences, " << distinct << " values";
        TypeParam more = 0;
        EXPECT_EQ(merge.take(&more, 1), 0U);
      }
    }
  }
}

TYPED_TEST(word_merge_of, portions_follow_each_other) {
  const auto in = make<TypeParam>(9, 500, 0, 3);
  for (const size_t portion : {1, 2, 255, 256, 10'000}) {
    word_merge<TypeParam> merge(in.spans());
    std::vector<TypeParam> out(in.expected.size() + portion);
    size_t num_taken = 0;
    for (;;) {
      const size_t taken = merge.take(out.data() + num_taken, portion);
      num_taken += taken;
      ASSERT_LE(num_taken, in.expected.size());
      if (taken < portion) break;
    }
    out.resize(num_taken);
    EXPECT_TRUE(out == in.expected) << portion;
  }
}

}  // namespace
}  // namespace flowrun::sort
