// Making one row of rows with equal keys while they are sorted, so that scratch holds each key once per run.
//
//   half, sorted   (a 1) (a 1) (b 1) (b 1) (b 1)       run 1   (a 2) (b 3)
//                                                      run 2   (b 4) (c 1)      merged   (a 2) (b 7) (c 1)
//
// The rows are partial results, such as a count so far. What a sum or a maximum is, only the caller knows: the sort
// hands it two rows at a time. It combines within a half of the run buffer and in the intermediate merges; equal keys
// that are left, from different runs, come out of the last merge side by side.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "engine/record/row_codec.h"

namespace flowrun::sort {

class row_combiner {
 public:
  virtual ~row_combiner() = default;
  // Adds `row` to `into`; both are rows of the sort's type with equal keys, and in a stable sort `row` comes later in
  // the input. The key of `into` must stay as it is, and so must the content of its strings. The order in which rows
  // are added up must not matter otherwise. Called from several threads at once.
  virtual void add(std::byte* into, const std::byte* row) const = 0;
};

// The same for rows that are sorted as numbers. Without a combiner nothing happens.
template <class Word>
class word_combiner {
 public:
  word_combiner(const row_combiner* combiner, const record::row_codec& codec)
      : combiner_(combiner), codec_(codec), rest_bits_(8 * codec.row_bytes() - codec.key_bits()) {}

  bool works() const { return combiner_ != nullptr; }
  // The key, as a number.
  Word key_of(Word word) const { return word >> rest_bits_; }

  // Words whose keys ascend: one is left of each key, in front, and their number is returned. Costs one look at each
  // pair of neighbours where no keys are equal.
  size_t combine(Word* words, size_t num_words) const {
    if (!works()) return num_words;
    size_t num_left = 0;
    for (size_t first = 0, last = 0; first < num_words; first = last) {
      for (last = first + 1; last < num_words && key_of(words[last]) == key_of(words[first]);) ++last;
      words[num_left++] = last - first == 1 ? words[first] : total(words + first, last - first);
    }
    return num_left;
  }

 private:
  Word total(const Word* words, size_t num_words) const {
    constexpr size_t most = 256;
    std::array<std::byte, most * sizeof(Word)> rows;
    std::array<std::byte, sizeof(Word)> sum;
    codec_.decode(words, 1, sum.data());
    for (size_t first = 1; first < num_words; first += most) {
      const size_t count = std::min(most, num_words - first);
      codec_.decode(words + first, count, rows.data());
      for (size_t i = 0; i < count; ++i) combiner_->add(sum.data(), rows.data() + i * codec_.row_bytes());
    }
    Word result = 0;
    codec_.encode(sum.data(), 1, &result);
    return result;
  }

  const row_combiner* combiner_;
  const record::row_codec& codec_;
  const uint32_t rest_bits_;  // below the key
};

}  // namespace flowrun::sort
