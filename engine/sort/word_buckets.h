// Words are distributed over buckets on their way into a buffer, so that what is sorted afterwards fits the cache.
//
//   append   each word goes to the block of its bucket; a full block goes to the buffer, behind the one before:
//            buffer │ b3 │ b0 │ b3 │ b1 │ b0 │ …        blocks being filled, one for each bucket
//   sort     blocks are exchanged until those of a bucket lie together, in the order of buckets (in place, each block
//            moves once); then, from the last bucket to the first, each moves up by what lies in unfilled blocks below
//            it, takes in its own, and is sorted:
//            buffer │ b0 b0 + │ b1 + │ … │ b3 b3 + │
//
// That is one level of the in-place samplesort IPS⁴o (Axtmann, Witt, Ferizovic and Sanders, ESA 2017), whose first pass
// takes the place of the copy that filling the buffer costs anyway, with the SIMD sort below it: where that sort halves
// what doesn't fit the cache again and again, a word here moves twice. Measured, ns a word of 8 bytes, 2^26 of them on
// one core, with the page faults of the buffer: 1.7 to copy, 12.8 to sort and 1.0 to verify; 3.6 to distribute, 1.3 to
// exchange and move, and 8.4 to sort and verify what lies in the cache.
//
// Which bucket: the range of a sample is cut into cells of equal width, of which neighbours share a bucket until it has
// its part of the sample. Words beside the range go to the outermost. However the words are spread, the result is
// sorted; where too many of them are in one cell, that bucket doesn't fit the cache, and is sorted as slowly as the
// whole would be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/record/key.h"

namespace flowrun::sort {

// One thread at a time. Word: uint64_t or word128.
template <class Word>
class word_buckets {
 public:
  static constexpr size_t num_buckets = 256;
  static constexpr size_t block_bytes = 2048;
  static constexpr size_t block_words = block_bytes / sizeof(Word);
  // Fewer words than that aren't worth it, and too few to learn from.
  static constexpr size_t least_words = 128 * 1024;

  // What it holds beside a buffer of so many words: blocks being filled, tables, and a byte for each block.
  static uint64_t memory_bytes(size_t buffer_words);

  // Learns from a sample of `words`, of which there must be some. Forgets what was appended.
  void start(std::span<const Word> words);
  bool started() const { return !cells_.empty(); }

  // Takes words on their way to `buffer`. They may lie in it themselves, no further in front than behind what was
  // appended before: at buffer + num_words() or above.
  void append(std::span<const Word> words, Word* buffer);
  size_t num_words() const { return num_words_; }

  // All that was appended, ascending, to the front of `buffer`: num_words(). Ends what start() began.
  void sort(Word* buffer);

  // Frees the memory.
  void clear() { *this = word_buckets(); }

 private:
  static constexpr size_t num_cells = 4096;

  struct cutting {
    Word low = 0;  // of the sample
    unsigned shift = 0;
    size_t cell_of(Word word) const {
      const Word above = word > low ? static_cast<Word>(word - low) >> shift : Word{0};
      return above < num_cells ? static_cast<size_t>(above) : num_cells - 1;
    }
  };
  std::vector<size_t> gather_blocks(Word* buffer);

  cutting cutting_;
  std::vector<uint8_t> cells_;  // the bucket of each
  std::unique_ptr<Word[]> filling_;
  std::vector<uint32_t> num_filling_;  // words
  std::vector<uint8_t> blocks_;        // in the buffer: the bucket of each
  size_t num_words_ = 0;
};

extern template class word_buckets<uint64_t>;
extern template class word_buckets<record::word128>;

}  // namespace flowrun::sort
