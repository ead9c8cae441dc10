// Which of the ascending words of a sort stay, and which may follow each other in a run: unique, combine and limit for
// rows that are sorted as numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include "engine/record/row_codec.h"
#include "engine/sort/row_combiner.h"
#include "engine/sort/settings.h"

namespace flowrun::sort {

// Thread-safe.
template <class Word>
class word_rules {
 public:
  // Both outlive the rules.
  word_rules(const sort_settings& settings, const record::row_codec& codec)
      : unique_(settings.unique),
        most_rows_(settings.limit > 0 ? settings.limit : std::numeric_limits<uint64_t>::max()),
        combiner_(settings.combiner.get(), codec) {}

  bool unique() const { return unique_; }
  bool combines() const { return combiner_.works(); }
  // The most rows that a limit allows in one run.
  uint64_t most_rows() const { return most_rows_; }

  // `next` may follow `word` in a run.
  bool may_follow(Word word, Word next) const {
    if (combines()) return combiner_.key_of(word) < combiner_.key_of(next);
    return unique_ ? word < next : word <= next;
  }

  // How many of the words unique leaves, in front; `before` stands before them.
  size_t without_repeats(Word* words, size_t num_words, std::optional<Word> before) const {
    if (!unique_) return num_words;
    num_words = static_cast<size_t>(std::unique(words, words + num_words) - words);
    if (before && num_words > 0 && *before == words[0]) std::memmove(words, words + 1, --num_words * sizeof(Word));
    return num_words;
  }
  // How many unique and combine leave.
  size_t reduce(Word* words, size_t num_words, std::optional<Word> before) const {
    return combiner_.combine(words, without_repeats(words, num_words, before));
  }

 private:
  const bool unique_;
  const uint64_t most_rows_;
  const word_combiner<Word> combiner_;
};

}  // namespace flowrun::sort
