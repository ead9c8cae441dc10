#include "engine/sort/word_buckets.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "engine/sort/word_sort.h"

namespace flowrun::sort {

namespace {

constexpr size_t sample_words = 8192;

unsigned bit_width(uint64_t word) { return static_cast<unsigned>(std::bit_width(word)); }
unsigned bit_width(record::word128 word) {
  const auto high = static_cast<uint64_t>(word >> 64);
  return high != 0 ? 64 + bit_width(high) : bit_width(static_cast<uint64_t>(word));
}

}  // namespace

template <class Word>
uint64_t word_buckets<Word>::memory_bytes(size_t buffer_words) {
  constexpr size_t exchanged = 2 * block_bytes,
                   tables = num_cells + num_buckets * (sizeof(uint32_t) + 2 * sizeof(size_t));
  return num_buckets * block_bytes + exchanged + tables + buffer_words / block_words;
}

template <class Word>
void word_buckets<Word>::start(std::span<const Word> words) {
  const size_t stride = std::max<size_t>(words.size() / sample_words, 1);
  Word low = words[0], high = words[0];
  for (size_t i = 0; i < words.size(); i += stride) {
    low = std::min(low, words[i]);
    high = std::max(high, words[i]);
  }
  const unsigned range_bits = bit_width(static_cast<Word>(high - low));
  cutting_.low = low;
  cutting_.shift = range_bits - std::min(range_bits, bit_width(uint64_t{num_cells - 1}));

  std::array<size_t, num_cells> in_cell{};
  size_t in_sample = 0;
  for (size_t i = 0; i < words.size(); i += stride, ++in_sample) ++in_cell[cutting_.cell_of(words[i])];
  cells_.resize(num_cells);
  size_t below = 0;
  for (size_t c = 0; c < num_cells; ++c) {
    cells_[c] = static_cast<uint8_t>(std::min(below * num_buckets / in_sample, num_buckets - 1));
    below += in_cell[c];
  }
  if (!filling_) filling_ = std::make_unique_for_overwrite<Word[]>(num_buckets * block_words);
  num_filling_.assign(num_buckets, 0);
  blocks_.clear();
  num_words_ = 0;
}

template <class Word>
void word_buckets<Word>::append(std::span<const Word> words, Word* buffer) {
  // Kept in registers: stores to the blocks could change members, as far as the compiler knows.
  const uint8_t* const cells = cells_.data();
  Word* const filling = filling_.get();
  uint32_t* const num_filling = num_filling_.data();
  const cutting cut = cutting_;
  for (const Word word : words) {
    const size_t bucket = cells[cut.cell_of(word)];
    uint32_t& filled = num_filling[bucket];
    Word* const block = filling + bucket * block_words;
    block[filled] = word;
    if (++filled < block_words) continue;
    std::memcpy(buffer + blocks_.size() * block_words, block, block_bytes);
    blocks_.push_back(static_cast<uint8_t>(bucket));
    filled = 0;
  }
  num_words_ += words.size();
}

// Exchanges blocks until those of a bucket lie together. Returns which is the first of each bucket, and the end.
template <class Word>
std::vector<size_t> word_buckets<Word>::gather_blocks(Word* buffer) {
  std::vector<size_t> first(num_buckets + 1);
  for (const uint8_t bucket : blocks_) ++first[bucket + 1U];
  for (size_t b = 0; b < num_buckets; ++b) first[b + 1] += first[b];
  std::vector<size_t> next(first.begin(), first.end() - 1);  // the place after those known to be right, in each bucket
  std::array<std::unique_ptr<Word[]>, 2> room;
  for (auto& block : room) block = std::make_unique_for_overwrite<Word[]>(block_words);
  Word *moving = room[0].get(), *met = room[1].get();

  auto place = [&](size_t i) { return buffer + i * block_words; };
  for (size_t b = 0; b < num_buckets; ++b) {
    for (; next[b] < first[b + 1]; ++next[b]) {
      const size_t hole = next[b];
      if (blocks_[hole] == b) continue;
      std::memcpy(moving, place(hole), block_bytes);
      size_t bucket = blocks_[hole];
      // The block goes where one is in a wrong place, which goes on, until one belongs to the hole.
      while (bucket != b) {
        while (blocks_[next[bucket]] == bucket) ++next[bucket];
        const size_t to = next[bucket]++;
        std::memcpy(met, place(to), block_bytes);
        std::memcpy(place(to), moving, block_bytes);
        std::swap(moving, met);
        bucket = std::exchange(blocks_[to], static_cast<uint8_t>(bucket));
      }
      std::memcpy(place(hole), moving, block_bytes);
      blocks_[hole] = static_cast<uint8_t>(b);
    }
  }
  return first;
}

template <class Word>
void word_buckets<Word>::sort(Word* buffer) {
  const std::vector<size_t> first = gather_blocks(buffer);
  // From above, because room for what is in unfilled blocks is above.
  Word* end = buffer + num_words_;
  for (size_t b = num_buckets; b-- > 0;) {
    const size_t in_blocks = (first[b + 1] - first[b]) * block_words;
    const size_t num_words = in_blocks + num_filling_[b];
    Word* const begin = end - num_words;
    std::memmove(begin, buffer + first[b] * block_words, in_blocks * sizeof(Word));
    std::memcpy(begin + in_blocks, filling_.get() + b * block_words, num_filling_[b] * sizeof(Word));
    sort_words(begin, num_words);
    end = begin;
  }
  cells_.clear();
}

template class word_buckets<uint64_t>;
template class word_buckets<record::word128>;

}  // namespace flowrun::sort
