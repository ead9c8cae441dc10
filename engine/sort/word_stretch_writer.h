// Writes sorted stretches of words (word_stretch.h) as runs. A stretch that starts where the last run ended extends it.
//
// Pieces that begin no lower than the ones before them end (sorted input) are written one behind the other. Of others,
// what lies below a common splitter is taken from all pieces, concatenated and sorted again in the cache (slice_cut.h),
// just before it is packed into a block:
//
//   piece 1   1 4 7 9 | 12 …
//   piece 2   2 3 | 10 11 …         slice: 1 4 7 9 2 3, sorted 1 2 3 4 7 9 ─▶ block
//
// Where unique leaves out rows, that leaves out more of them. If those are few, as some windows of the pieces show,
// merging costs more than it saves, and the pieces become runs by themselves (creator_sizes::splits_halves).
#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/kernels/slice_cut.h"
#include "engine/kernels/word_sort.h"
#include "engine/record/row_codec.h"
#include "engine/runs/run_writer.h"
#include "engine/runs/word_writer.h"
#include "engine/sort/repeated_words.h"
#include "engine/sort/settings.h"
#include "engine/sort/word_rules.h"
#include "engine/sort/word_stretch.h"

namespace flowrun::sort {

// One thread at a time.
template <class Word>
class word_stretch_writer {
 public:
  static constexpr uint64_t slice_bytes = 256 * KiB;  // fits the L2 cache beside a block

  // All outlive the writer, which makes its buffers, `num_buffers` and one of slice_bytes if `merges`, when it is first
  // needed.
  word_stretch_writer(const sort_settings& settings, const sort_resources& resources, const record::row_codec& codec,
                      const word_rules<Word>& rules, unsigned num_buffers, bool merges)
      : settings_(settings),
        resources_(resources),
        codec_(codec),
        rules_(rules),
        num_buffers_(num_buffers),
        merges_(merges) {}

  // A step. `rows_taken`: with the last row of the stretch. done: all of the stretch was handed to the disks, and the
  // stretch is cleared. blocked: `w` will be woken.
  outcome write(word_stretch<Word>& stretch, uint64_t rows_taken, waker& w) {
    if (way_ == way::not_begun) {
      if (const outcome o = stretch.sorted(w); o.is_blocked()) return o;
      begin(stretch.pieces());
    }
    for (;;) {
      if (resources_.cancelled && resources_.cancelled()) throw error(error_kind::cancelled, "the sort was cancelled");
      if (left_.empty() && !next_words(stretch.pieces())) break;
      // Not all at once, so that cancelling is noticed.
      std::span<const Word> part = left_.first(std::min<size_t>(left_.size(), words_per_look));
      const size_t wanted = part.size();
      const outcome o = words_->append(part, w);
      left_ = left_.subspan(wanted - part.size());
      if (o.is_blocked()) return o;
    }
    words_->end_block();
    writer_->mark(rows_taken);
    stretch.clear();
    way_ = way::not_begun;
    return outcome::done();
  }

  // done: everything is on the disks; then take() gives the runs, and the buffers go back.
  outcome flush(waker& w) { return writer_ ? writer_->flush(&w) : outcome::done(); }
  std::vector<runs::run> take() {
    std::vector<runs::run> out;
    if (writer_) out = writer_->take();
    shutdown();
    return out;
  }
  // Waits for the writes.
  void shutdown() {
    words_.reset();
    writer_.reset();
  }

 private:
  // How the pieces of the stretch at hand become runs.
  enum class way {
    not_begun,
    in_order,  // one behind the other
    merged,    // slice by slice
    apart,     // each is a run
  };
  using pieces = std::deque<kernels::word_span<Word>>;
  static constexpr size_t words_per_look = MiB / sizeof(Word);

  void begin(const pieces& all) {
    if (!writer_) make_buffers();
    way_ = way_of(all);
    const Word first =
        (*std::min_element(all.begin(), all.end(), [](const auto& a, const auto& b) { return a[0] < b[0]; }))[0];
    if (way_ != way::apart && (!writer_->has_run() || !rules_.may_follow(last_of_run_, first))) writer_->begin_run();
    rows_left_ = rules_.most_rows();
    before_.reset();
    held_.reset();
  }

  void make_buffers() {
    unsigned num_buffers = num_buffers_;
    if (merges_) {  // the slice has the room of some
      num_buffers -=
          static_cast<unsigned>((slice_bytes + resources_.creating.block_bytes - 1) / resources_.creating.block_bytes);
      slice_buffer_ = aligned_buffer(slice_bytes);
    }
    writer_.emplace(*resources_.blocks, resources_.creating.block_bytes, num_buffers, resources_.coding);
    if (resources_.written) writer_->tell_of_written(resources_.written);
    words_.emplace(*writer_, codec_);
  }

  way way_of(const pieces& all) const {
    const auto goes_on = [this](const kernels::word_span<Word>& before, const kernels::word_span<Word>& piece) {
      const Word last = before[before.num_words - 1];
      return rules_.combines() ? rules_.may_follow(last, piece[0]) : last <= piece[0];
    };
    const auto broken =
        std::adjacent_find(all.begin(), all.end(), [&](const auto& a, const auto& b) { return !goes_on(a, b); });
    if (broken == all.end()) return way::in_order;
    return resources_.creating.splits_halves && settings_.limit == 0 && repeat_little<Word>(all) ? way::apart
                                                                                                 : way::merged;
  }

  // What is to be written next, into left_; false when that was all.
  bool next_words(pieces& all) {
    left_ = way_ == way::merged ? next_slice(all) : next_piece(all);
    if (left_.empty()) return false;
    if (way_ == way::apart) {
      words_->end_block();
      writer_->begin_run();
    }
    rows_left_ -= left_.size();
    before_ = last_of_run_ = left_.back();
    return true;
  }

  std::span<const Word> next_slice(pieces& all) {
    auto* const words = reinterpret_cast<Word*>(slice_buffer_.data());
    size_t num_words = 0;
    while (rows_left_ > 0 && num_words == 0) {
      const size_t num_held = held_ ? 1 : 0;
      if (held_) words[0] = *held_;
      held_.reset();
      const size_t taken = kernels::cut_slice(all, slice_bytes / sizeof(Word) - num_held, words + num_held);
      if (taken + num_held == 0) break;
      kernels::sort_words(words + num_held, taken);
      num_words = rules_.reduce(words, num_held + taken, before_);  // none where all repeat the word before
      if (rules_.combines() && taken > 0 && num_words <= rows_left_) held_ = words[--num_words];
      num_words = std::min<uint64_t>(num_words, rows_left_);
    }
    return {words, num_words};
  }

  // The next piece that has something left. Unique and combine have already left out what repeats within each piece.
  std::span<const Word> next_piece(pieces& all) {
    while (!all.empty() && rows_left_ > 0) {
      const kernels::word_span<Word> piece = all.front();
      all.pop_front();
      std::span<const Word> words(piece.at, piece.num_words);
      if (rules_.unique() && before_ && *before_ == words.front()) words = words.subspan(1);
      words = words.first(std::min<uint64_t>(words.size(), rows_left_));
      if (!words.empty()) return words;
    }
    return {};
  }

  const sort_settings& settings_;
  const sort_resources& resources_;
  const record::row_codec& codec_;
  const word_rules<Word>& rules_;
  const unsigned num_buffers_;
  const bool merges_;
  std::optional<runs::run_writer> writer_;
  std::optional<runs::word_writer<Word>> words_;
  aligned_buffer slice_buffer_;
  Word last_of_run_ = 0;  // of the newest one
  // Of the stretch at hand.
  way way_ = way::not_begun;
  std::span<const Word> left_;  // of a slice or a piece
  uint64_t rows_left_ = 0;      // that a limit allows
  std::optional<Word> before_;  // the last word of what came before
  std::optional<Word> held_;    // the last one of the slice before, whose key may go on in the next one
};

}  // namespace flowrun::sort
