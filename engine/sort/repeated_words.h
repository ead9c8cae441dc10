// Whether ascending sequences have words in common, so that merging them would leave out many: told from windows of
// them, before anything is merged.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <vector>

#include "engine/kernels/slice_cut.h"

namespace flowrun::sort {

// True when of the words of some strictly ascending sequences, none of them empty, at most an eighth or so is in others
// as well. Looks at 32 windows of 64 words of the first sequence, and at what the others have there: a few thousand
// words and, for each window, two binary searches in each sequence.
template <class Word>
bool repeat_little(const std::deque<kernels::word_span<Word>>& sequences) {
  constexpr size_t num_windows = 32, window = 64;  // words of the first sequence, and what others have there
  constexpr size_t most = 16 * window;             // of each
  const kernels::word_span<Word>& first = sequences.front();
  std::vector<Word> words;
  size_t num_words = 0, num_different = 0;
  for (size_t i = 0; i < num_windows; ++i) {
    const size_t begin = first.num_words / num_windows * i, end = std::min(begin + window, first.num_words) - 1;
    words.clear();
    for (const kernels::word_span<Word>& s : sequences) {
      const Word* from = std::lower_bound(s.at, s.at + s.num_words, first[begin]);
      const Word* to = std::lower_bound(from, s.at + s.num_words, first[end]);
      words.insert(words.end(), from, from + std::min(static_cast<size_t>(to - from), most));
    }
    std::sort(words.begin(), words.end());
    num_words += words.size();
    num_different += static_cast<size_t>(std::unique(words.begin(), words.end()) - words.begin());
  }
  return num_words - num_different <= num_words / 8;
}

}  // namespace flowrun::sort
