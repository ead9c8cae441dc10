// One slice of several ascending sequences in memory: what lies below a common splitter, concatenated; the step that
// slice_merger.h explains, where no block has to be loaded first.
//
// Cost: with k sequences, k binary searches per slice. A slice has about as many words as were asked for when the
// sequences cover the same range, and never fewer than the share of one sequence.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

namespace flowrun::kernels {

// What is left of one sequence that lies in one piece.
template <class Word>
struct word_span {
  const Word* at = nullptr;
  size_t num_words = 0;

  Word operator[](size_t i) const { return at[i]; }
  // Moves the first `count` words to `to`.
  void take(size_t count, Word* to) {
    if (count > 0) std::memcpy(to, at, count * sizeof(Word));
    at += count;
    num_words -= count;
  }
};

// How many words of each sequence the next slice of at most `max_words` > 0 takes, into `counts`: every word in it is
// at most as large as every word that is left. Returns how many all together; 0 when nothing was left.
template <class Sequences>
size_t measure_slice(const Sequences& sequences, size_t max_words, std::vector<size_t>& counts) {
  using word = std::remove_cvref_t<decltype((*sequences.begin())[0])>;
  counts.assign(sequences.size(), 0);
  size_t num_active = 0;
  for (const auto& s : sequences) num_active += s.num_words > 0 ? 1 : 0;
  if (num_active == 0) return 0;
  const bool crowded = num_active > max_words;  // then copies of the smallest word are taken, as many as have room
  const size_t stride = crowded ? 1 : max_words / num_active;
  word splitter = static_cast<word>(~word{0});
  for (const auto& s : sequences)
    if (s.num_words > stride || (crowded && s.num_words > 0)) splitter = std::min<word>(splitter, s[stride - 1]);
  size_t total = 0;
  auto count = counts.begin();
  for (const auto& s : sequences) {
    if (total == max_words) break;
    size_t low = 0;
    for (size_t high = std::min(stride, s.num_words); low < high;) {
      const size_t middle = low + (high - low) / 2;
      if (splitter < s[middle]) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    *count++ = low;
    total += low;
  }
  return total;
}

// Takes the next slice, not sorted, to `to`, which has room for `max_words` > 0. Returns how many; 0 when nothing was
// left.
template <class Word, class Sequences>
size_t cut_slice(Sequences& sequences, size_t max_words, Word* to) {
  std::vector<size_t> counts;
  const size_t total = measure_slice(sequences, max_words, counts);
  auto count = counts.begin();
  for (auto& s : sequences) {
    if (*count > 0) s.take(*count, to);
    to += *count++;
  }
  return total;
}

}  // namespace flowrun::kernels
