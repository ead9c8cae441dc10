// A stretch of the run buffer for rows that are sorted as numbers (narrow_run_creator.cc): an array of words that is
// sorted in one piece, or in several, each as soon as it is full, several at once:
//
//   words    │ piece, sorted │ piece, being sorted │ piece, filling │
//
// Equal words are identical rows, so what comes of them doesn't depend on the pieces.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/background_work.h"
#include "engine/base/buffer.h"
#include "engine/base/units.h"
#include "engine/kernels/slice_cut.h"
#include "engine/kernels/word_sort.h"
#include "engine/runs/sorted_runs.h"
#include "engine/sort/word_rules.h"

namespace flowrun::sort {

// The sizes of every stretch of a run buffer.
struct word_stretch_shape {
  size_t num_words = 0;
  size_t num_pieces = 1;
  size_t piece_words() const { return (num_words + num_pieces - 1) / num_pieces; }
};

// One thread at a time, beside those that sort.
template <class Word>
class word_stretch {
 public:
  // `rules` outlives this.
  word_stretch(const word_stretch_shape& shape, const word_rules<Word>& rules, const task_poster& post)
      : shape_(shape), rules_(rules) {
    for (size_t i = 0; i < shape.num_pieces; ++i) sorting_.emplace_back(post);
  }

  size_t num_rows() const { return num_words_; }
  uint64_t held_bytes() const { return num_words_ * sizeof(Word); }
  bool is_full() const { return num_words_ == shape_.num_words; }

  // Takes words off the front as long as they fit. Pieces that are full are sorted.
  void fill(std::span<const Word>& from) {
    while (!from.empty() && !is_full()) {
      const size_t count = std::min(from.size(), make_room());
      std::memcpy(words() + num_words_, from.data(), count * sizeof(Word));
      num_words_ += count;
      from = from.subspan(count);
      while (num_words_ - num_in_pieces_ >= shape_.piece_words()) sort_piece(shape_.piece_words());
    }
  }
  // The last piece may be shorter.
  void sort_rest() {
    if (num_words_ > num_in_pieces_) sort_piece(num_words_ - num_in_pieces_);
  }
  // done: all pieces are sorted. blocked: `w` will be woken once one more is. Throws what sorting threw.
  outcome sorted(waker& w) {
    for (background_work& work : sorting_)
      if (const outcome o = work.idle(&w); o.is_blocked()) return o;
    return outcome::done();
  }

  // Once sorted: the pieces, without what the rules leave out of each. They may be taken away as they are used up.
  std::deque<kernels::word_span<Word>>& pieces() { return pieces_; }

  // Once sorted: the same as a run that stays in memory. Pieces that ascend one behind the other, and lie so, are one
  // part of it. The stretch is of no use afterwards.
  std::shared_ptr<const runs::memory_run> keep() {
    auto kept = std::make_shared<runs::memory_run>();
    std::vector<runs::memory_run::part>& parts = kept->parts;
    for (const kernels::word_span<Word>& piece : pieces_) {
      const auto first = static_cast<uint64_t>(piece.at - words());
      const bool joins = !parts.empty() && piece.num_words > 0 &&
                         parts.back().first + parts.back().num_words == first &&
                         rules_.may_follow(piece.at[-1], piece[0]);
      if (joins)
        parts.back().num_words += piece.num_words;
      else
        parts.push_back({first, piece.num_words});
      kept->num_rows += piece.num_words;
    }
    buffer_.discard_from(num_words_ * sizeof(Word));
    kept->rows = std::move(buffer_);
    return kept;
  }

  // To be filled again.
  void clear() {
    num_words_ = num_in_pieces_ = 0;
    pieces_.clear();
  }
  // Waits until nothing is being sorted.
  void shutdown() {
    for (background_work& work : sorting_) work.shutdown();
  }

 private:
  Word* words() { return reinterpret_cast<Word*>(buffer_.data()); }

  // How many more words the buffer takes: more than none, as the stretch isn't full. It is small at first, since a
  // large one begins with a huge page, and clearing that takes longer than sorting the few rows of a loop's iteration.
  // It is moved before the first piece is being sorted.
  size_t make_room() {
    const size_t room = std::min<size_t>(buffer_.num_bytes() / sizeof(Word), shape_.num_words);
    if (num_words_ < room) return room - num_words_;
    constexpr size_t few_words = 64 * KiB / sizeof(Word);
    const size_t wanted = room == 0 && shape_.piece_words() >= 2 * few_words ? few_words : shape_.num_words;
    aligned_buffer larger(wanted * sizeof(Word));
    if (num_words_ > 0) std::memcpy(larger.data(), words(), held_bytes());
    buffer_ = std::move(larger);
    return wanted - num_words_;
  }

  void sort_piece(size_t num_words) {
    pieces_.push_back({words() + num_in_pieces_, num_words});
    kernels::word_span<Word>& piece = pieces_.back();
    Word* const first = words() + std::exchange(num_in_pieces_, num_in_pieces_ + num_words);
    sorting_[pieces_.size() - 1].start([this, first, &piece](waker&) {
      kernels::sort_words(first, piece.num_words);
      piece.num_words = std::min<uint64_t>(rules_.reduce(first, piece.num_words, std::nullopt), rules_.most_rows());
      return outcome::done();
    });
  }

  const word_stretch_shape shape_;
  const word_rules<Word>& rules_;
  aligned_buffer buffer_;
  size_t num_words_ = 0;
  size_t num_in_pieces_ = 0;                     // words
  std::deque<kernels::word_span<Word>> pieces_;  // ascending once their sorting is idle
  std::deque<background_work> sorting_;          // of each piece
};

}  // namespace flowrun::sort
