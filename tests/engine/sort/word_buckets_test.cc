#include "engine/sort/word_buckets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <vector>

#include "tests/engine/sort/word_patterns.h"

namespace flowrun::sort {
namespace {

template <class Word>
class word_buckets_of : public testing::Test {};
using word_types = testing::Types<uint64_t, word128>;
TYPED_TEST_SUITE(word_buckets_of, word_types);

// Learns from the first `num_learnt` words, which lie in the buffer; the others come in portions.
template <class Word>
std::vector<Word> sorted_by_buckets(word_buckets<Word>& buckets, const std::vector<Word>& words, size_t num_learnt) {
  std::vector<Word> buffer(words.size());
  std::copy_n(words.begin(), num_learnt, buffer.begin());
  buckets.start(std::span(buffer).first(num_learnt));
  buckets.append(std::span(buffer).first(num_learnt), buffer.data());
  for (size_t at = num_learnt, portion = 1; at < words.size(); at += portion, portion = portion * 3 % 10'007) {
    portion = std::min(portion, words.size() - at);
    buckets.append(std::span(words).subspan(at, portion), buffer.data());
  }
  EXPECT_EQ(buckets.num_words(), words.size());
  buckets.sort(buffer.data());
  EXPECT_FALSE(buckets.started());
  return buffer;
}

// One after the other with the same buckets: what one leaves doesn't show in the next.
TYPED_TEST(word_buckets_of, any_order_and_size) {
  word_buckets<TypeParam> buckets;
  constexpr size_t block = word_buckets<TypeParam>::block_words;
  for (const auto& p : word_patterns<TypeParam>()) {
    for (const size_t num_words : {size_t{1}, size_t{2}, block, 256 * block - 1, 256 * block, 100 * block + 17}) {
      for (const size_t num_learnt : {size_t{1}, num_words / 3 + 1, num_words}) {
        const std::vector<TypeParam> words = words_of(p, num_words);
        std::vector<TypeParam> expected = words;
        std::sort(expected.begin(), expected.end());
        ASSERT_TRUE(sorted_by_buckets(buckets, words, num_learnt) == expected)
            << p.name << ", " << num_words << " words, " << num_learnt << " of them learnt from";
      }
    }
  }
}

TYPED_TEST(word_buckets_of, words_beside_the_range_of_the_sample) {
  word_buckets<TypeParam> buckets;
  std::mt19937_64 random(3);
  for (const unsigned bits : {0U, 1U, 11U, 12U, 13U, 40U, 63U}) {
    std::vector<TypeParam> words(70'001);
    const TypeParam base = wide<TypeParam>(random(), random());
    for (size_t i = 0; i < words.size(); ++i) {
      const TypeParam within = base + static_cast<TypeParam>(random() >> (63 - bits) >> 1);
      words[i] = i < 20'000 || i % 2 == 0 ? within : wide<TypeParam>(random(), random());
    }
    std::vector<TypeParam> expected = words;
    std::sort(expected.begin(), expected.end());
    ASSERT_TRUE(sorted_by_buckets(buckets, words, 20'000) == expected) << bits << " bits";
  }
}

TYPED_TEST(word_buckets_of, memory_is_a_small_part_of_the_buffer) {
  using buckets = word_buckets<TypeParam>;
  const size_t num_words = 32 * buckets::num_buckets * buckets::block_words;
  EXPECT_LT(buckets::memory_bytes(num_words), num_words * sizeof(TypeParam) / 24);
}

}  // namespace
}  // namespace flowrun::sort
