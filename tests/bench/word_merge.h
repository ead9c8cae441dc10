// Merging ascending words that lie in memory by a loser tree: what slices sorted again (engine/kernels/word_sort.h) are
// compared with. They cost 3-5 ns a word however many there were to merge; the tree takes 11 for two sequences and 20
// for eight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/kernels/loser_tree.h"
#include "engine/kernels/slice_cut.h"

namespace flowrun::kernels {

// The loser tree, which stops wherever the caller likes. Equal words: the earlier sequence first.
template <class Word>
class word_merge {
 public:
  // The sequences stay where they are until all was taken.
  explicit word_merge(std::vector<word_span<Word>> sequences)
      : sequences_(std::move(sequences)), tree_(sequences_.size(), by_sequence{}) {
    for (uint32_t i = 0; i < sequences_.size(); ++i)
      if (sequences_[i].num_words > 0) tree_.set(i, sequences_[i][0]);
    tree_.start();
  }

  // The next words in order; returns how many, which is fewer than `max_words` only at the end.
  size_t take(Word* to, size_t max_words) {
    size_t num_taken = 0;
    for (; num_taken < max_words && tree_.winner() != tree_.none; ++num_taken) {
      to[num_taken] = tree_.winner_key();
      word_span<Word>& s = sequences_[tree_.winner()];
      ++s.at;
      if (--s.num_words == 0)
        tree_.replay_exhausted();
      else
        tree_.replay(s[0]);
    }
    return num_taken;
  }

 private:
  struct by_sequence {
    bool operator()(uint32_t a, uint32_t b, Word&) const { return a < b; }
  };

  std::vector<word_span<Word>> sequences_;
  loser_tree<Word, by_sequence> tree_;
};

}  // namespace flowrun::kernels
