// Merging ascending words that lie in memory: by a loser tree, or by sorting them again (word_sort.h), whichever costs
// less for words of this size from so many sequences.
//
// Sorting again by SIMD has a price per word that doesn't depend on how many sequences the words came in; that of a
// tree grows with its height, and hardly with the words' size. So words of 8 bytes are always sorted, and those of 16
// bytes unless they come from three or four sequences; two are found and merged in place by the sort. Measured, M words
// of 16 bytes a second and core, in slices of 512 KiB (tests/bench/merge_kernels.cc; a busy machine):
//
//   sequences       2      4      8     16     32     64    256
//   sorted        119     71     72     69     71     68     68
//   merged         88     71     56     49     40     36     27
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/sort/loser_tree.h"
#include "engine/sort/slice_cut.h"

namespace flowrun::sort {

enum class word_kernel { none, sort, tree };  // none: one sequence is in order

// What merges so many sequences of words of 8 or 16 bytes. Pure.
constexpr word_kernel word_kernel_for(size_t word_bytes, size_t num_sequences) {
  constexpr size_t least_for_tree = 3, most_for_tree = 4;
  if (num_sequences < 2) return word_kernel::none;
  const bool for_tree = num_sequences >= least_for_tree && num_sequences <= most_for_tree;
  return word_bytes > sizeof(uint64_t) && for_tree ? word_kernel::tree : word_kernel::sort;
}

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

}  // namespace flowrun::sort
