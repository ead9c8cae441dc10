// A stretch of the run buffer for rows that are sorted by index (wide_run_creator.cc).
//
//   arena    │ row 0 │ row 1 │ row 2 │ …            │ strings of 2 │ of 1 │ of 0 │
//   entries  │ (prefix, 0) │ (prefix, 1) │ (prefix, 2) │ …
//   pieces   │ sorted                    │ being sorted    │ filling
//
// One entry per row: (first 12 bytes of the normalised key) * 2^32 + row number. Entries are distinct, so the SIMD sort
// gives one result, and rows with equal prefixes come out in input order. Where the key is longer than 12 bytes, they
// are then put in order by what follows (tie_breaker.h). unique, combine and limit drop entries.
//
// Pieces are rows next to each other in the input. Each is sorted in the background as soon as it is there, several at
// once; merged with equal keys from the earlier one first, they give what sorting all at once would.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "engine/base/background_work.h"
#include "engine/base/buffer.h"
#include "engine/kernels/row_slices.h"
#include "engine/kernels/wide_rows.h"
#include "engine/record/key.h"
#include "engine/record/key_words.h"
#include "engine/runs/sorted_runs.h"
#include "engine/sort/settings.h"

namespace flowrun::sort {

// What all stretches of a run buffer have in common.
struct stretch_rules {
  stretch_rules(const sort_settings& s, uint64_t bytes_of_arena, size_t pieces_at_most);

  const sort_settings& settings;
  const kernels::wide_rows rows;
  const record::row_comparator comparator;
  const record::key_prefix prefix;
  const record::key_words words;
  const uint64_t arena_bytes;  // for rows, strings and entries
  const uint64_t max_rows;
  const size_t most_pieces;

  int compare(const record::row_place& a, const record::row_place& b) const {
    return comparator.compare(a.row, a.heap, b.row, b.heap);
  }
};

// How much a stretch may take, and of which rows. Where these are long, blocks and their buffers take more, and
// stretches less. Where a stretch would have no room for them it has that of all stretches, while the others are empty.
struct stretch_room {
  uint64_t num_bytes = 0;    // for rows, strings and entries
  uint64_t longest_row = 0;  // with its strings
  bool alone = false;        // of all stretches together
};

// One thread at a time, beside those that sort.
class row_stretch {
 public:
  // `rules` outlives this.
  row_stretch(const stretch_rules& rules, const task_poster& post);

  size_t num_rows() const { return num_rows_; }
  size_t longest_row() const { return longest_row_; }  // with its strings
  uint64_t held_bytes() const;                         // rows, strings and entries

  // Takes rows as long as they fit and none is too long; returns how many. Another room than before counts when the
  // stretch is filled anew.
  size_t fill(const record::batch& in, const stretch_room& room);
  // What fill() took since the last piece is one: it is sorted in the background. No rows: no piece.
  void sort_rest();
  // Whether what fill() took since the last piece is large enough to be one.
  bool has_piece() const {
    return rules_.most_pieces > 1 && held_bytes() - piece_from_ >= arena_bytes_ / rules_.most_pieces;
  }
  // ready: all pieces are sorted; else `w` will be woken once one more is. Throws what sorting threw.
  outcome sorted(waker& w);

  // Once sorted: the pieces, the k-th one as sequence k. Those that go on where the one before ends are one.
  std::vector<kernels::row_span> pieces();
  // The same as a run that stays in memory; the stretch is of no use afterwards.
  std::shared_ptr<const runs::memory_run> keep();

  // To be filled again.
  void clear();
  // Empty: its pages go back to the system until it is filled.
  void give_back();
  // Waits until nothing is being sorted.
  void shutdown();

 private:
  using word128 = record::word128;
  struct piece {
    size_t first = 0;  // row and entry
    size_t num_rows = 0;
    size_t num_entries = 0;  // after sorting: what unique, combine and limit leave of them, in front
  };

  word128* entries() { return reinterpret_cast<word128*>(entries_.data()); }
  const std::byte* row(size_t number) const { return arena_.data() + number * rules_.rows.row_bytes(); }
  record::row_place place(word128 entry) const { return {row(static_cast<uint32_t>(entry)), arena_.data()}; }
  void sort(piece& p);
  size_t combine(word128* entries, size_t num_entries);
  bool have_equal_keys(word128 a, word128 b) const;
  void join();
  void take_room(const stretch_room& room);
  void give_back_pages();

  const stretch_rules& rules_;
  uint64_t arena_bytes_;  // for rows, strings and entries
  aligned_buffer arena_;
  aligned_buffer entries_;
  size_t num_rows_ = 0;
  size_t rows_bytes_ = 0;     // from the front
  size_t heap_end_ = 0;       // strings lie behind this
  size_t longest_row_ = 0;    // with its strings
  size_t num_in_pieces_ = 0;  // rows
  uint64_t piece_from_ = 0;   // what these take
  // Resident, since rows lay there at some time: of the rows, of the strings, of the entries.
  size_t touched_rows_ = 0, touched_strings_ = 0, touched_entries_ = 0;
  std::deque<piece> pieces_;  // sorted once their works are idle
  std::deque<background_work> sorting_;
};

}  // namespace flowrun::sort
