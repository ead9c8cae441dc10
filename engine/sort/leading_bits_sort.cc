#include "engine/sort/leading_bits_sort.h"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

namespace flowrun::sort {

using record::word128;

namespace {

constexpr unsigned position_bits = 15;
constexpr size_t most_in_cache = size_t{1} << position_bits;
constexpr unsigned prefix_bits = 64 - position_bits;
constexpr unsigned most_digit_bits = 9;        // buckets whose ends stay in the first cache
constexpr size_t wanted_in_bucket = 8 * 1024;  // on average
constexpr size_t few = 32;                     // that have all leading bits in common
constexpr unsigned most_levels = 4;            // of distribution
constexpr size_t words_ahead = 12;             // of a bucket's end, fetched into the cache

struct room {
  std::array<uint64_t, most_in_cache> keys;
  std::array<word128, most_in_cache> words;
};

// The number of the highest bit that differs between words, from 1; 0: all are equal.
unsigned first_different_bit(const word128* words, size_t num_words) {
  const auto* halves = reinterpret_cast<const uint64_t*>(words);
  uint64_t low = 0, high = 0;
  for (size_t i = 0; i < num_words; ++i) {
    low |= halves[2 * i] ^ halves[0];
    high |= halves[2 * i + 1] ^ halves[1];
  }
  return static_cast<unsigned>(high != 0 ? 64 + std::bit_width(high) : std::bit_width(low));
}

void sort_common_prefixes(word128* words, const uint64_t* keys, size_t num_words) {
  const auto same = [&](size_t a, size_t b) { return (keys[a] ^ keys[b]) >> position_bits == 0; };
  for (size_t first = 0, last = 1; last < num_words; first = last++) {
    if (!same(first, last)) continue;
    while (last < num_words && same(first, last)) ++last;
    if (last - first > few)
      hwy::Sorter()(reinterpret_cast<hwy::uint128_t*>(words + first), last - first, hwy::SortAscending());
    if (last - first <= few || !std::is_sorted(words + first, words + last)) std::sort(words + first, words + last);
  }
}

// The words in the order of the keys, and how many keys have the prefix of the one before. False if the keys, of which
// no two are equal, don't ascend.
bool gather(const word128* words, const uint64_t* keys, size_t num_words, word128* to, size_t& num_same) {
  constexpr uint64_t position_mask = most_in_cache - 1;
  size_t same = 0, ascending = 0;
  to[0] = words[keys[0] & position_mask];
  for (size_t i = 1; i < num_words; ++i) {
    to[i] = words[keys[i] & position_mask];
    same += (keys[i] ^ keys[i - 1]) >> position_bits == 0 ? 1 : 0;
    ascending += keys[i - 1] < keys[i] ? 1 : 0;
  }
  num_same = same;
  return ascending == num_words - 1;
}

// At most most_in_cache.
void sort_in_cache(word128* words, size_t num_words, room& beside) {
  if (num_words <= few) return std::sort(words, words + num_words);
  const unsigned first_bit = first_different_bit(words, num_words);
  if (first_bit == 0) return;
  uint64_t* const keys = beside.keys.data();
  // Bits above the prefix, which are the same in all words, fall off.
  const unsigned shift = first_bit > prefix_bits ? first_bit - prefix_bits : 0;
  if (shift >= 64) {
    const uint64_t* high = reinterpret_cast<const uint64_t*>(words) + 1;
    for (size_t i = 0; i < num_words; ++i) keys[i] = high[2 * i] >> (shift - 64) << position_bits | i;
  } else {
    for (size_t i = 0; i < num_words; ++i) keys[i] = static_cast<uint64_t>(words[i] >> shift) << position_bits | i;
  }
  hwy::Sorter()(keys, num_words, hwy::SortAscending());
  word128* const sorted = beside.words.data();
  size_t num_same = 0;
  if (!gather(words, keys, num_words, sorted, num_same)) {
    std::sort(keys, keys + num_words);
    gather(words, keys, num_words, sorted, num_same);
  }
  if (num_same > 0 && shift > 0) sort_common_prefixes(sorted, keys, num_words);
  std::memcpy(words, sorted, num_words * sizeof(word128));
}

bool sort_level(word128* words, size_t num_words, room& beside, unsigned level) {
  if (num_words <= most_in_cache) {
    sort_in_cache(words, num_words, beside);
    return true;
  }
  if (level == most_levels) return false;
  const unsigned first_bit = first_different_bit(words, num_words);
  if (first_bit == 0) return true;
  unsigned digit_bits = 1;
  while (digit_bits < std::min(most_digit_bits, first_bit) && num_words >> digit_bits > wanted_in_bucket) ++digit_bits;
  const unsigned shift = first_bit - digit_bits;
  const size_t num_buckets = size_t{1} << digit_bits;
  const auto digit = [&](word128 word) { return static_cast<size_t>(word >> shift) & (num_buckets - 1); };

  // next: where the bucket's next word goes; what lies in front of it is in its place.
  std::array<size_t, size_t{1} << most_digit_bits> next{}, end{};
  for (size_t i = 0; i < num_words; ++i) ++end[digit(words[i])];
  for (size_t b = 0, sum = 0; b < num_buckets; ++b) {
    next[b] = sum;
    sum = end[b] += sum;
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t b = 0; b < num_buckets; ++b) {
      // Each word goes to its bucket, and what was there comes here; words don't wait for each other.
      for (size_t i = next[b]; i < end[b]; ++i) {
        word128& to = words[next[digit(words[i])]++];
        __builtin_prefetch(&to + words_ahead, 1);
        std::swap(words[i], to);
        moved = true;
      }
    }
  }
  for (size_t b = 0, first = 0; b < num_buckets; first = end[b++])
    if (!sort_level(words + first, end[b] - first, beside, level + 1)) return false;
  return true;
}

}  // namespace

bool sort_by_leading_bits(word128* words, size_t num_words) {
  const auto beside = std::make_unique_for_overwrite<room>();
  return sort_level(words, num_words, *beside, 0);
}

}  // namespace flowrun::sort
