// No record is lost or added: what a sort took beside what it gives, and whether that is in order.
//
//   take-in   batch ── counted and hashed (record/row_tally.h) ─▶ run creator ─▶ sorted_runs::taken
//   give-out  run merger ─▶ pull() ── numbered ─▶ refine() ── counted, hashed, order looked at ─▶
//
// Both look at rows as they come and go, not at what the sort makes of them, so whatever happens between is covered:
// encoding, sorting, scratch, merging, decoding. Parts are refined by several threads and end in any order. So each has
// the number of its first row, and of its first and last row the keys are kept until those of its neighbours are known.
//
// A sort that drops or combines rows (unique, combine, a limit that cut) has no content to compare: the order is looked
// at, and that no more rows come out than went in, and not none of some. That a stable sort keeps the order of equal
// keys is not looked at.
//
// Cost: the hash of each row twice (record/row_tally.h) and a comparison of each with the one before; a key for each
// part that is being refined.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/mutex.h"
#include "engine/kernels/wide_rows.h"
#include "engine/record/batch.h"
#include "engine/record/key_fronts.h"
#include "engine/record/row_codec.h"
#include "engine/record/row_tally.h"
#include "engine/sort/settings.h"

namespace flowrun::sort {

// What was compared, and found as it should be.
enum class conservation : uint8_t {
  unknown,
  order,             // there is nothing else to compare with: a sort of sorted input
  order_and_bounds,  // rows are dropped or combined on purpose
  everything,        // order, number of rows and their content
};
std::string_view to_string(conservation level);

// How many of the words are smaller than the one before, without so many of their lowest bits.
using count_descents = size_t (*)(const uint64_t* words, size_t count, uint32_t beside);

// Whether the rows of batches ascend by the key of a sort. Thread-safe.
class row_order_check {
 public:
  explicit row_order_check(const sort_settings& settings);
  // The first row that is smaller than the row before; num_rows if there is none.
  size_t first_unordered(const record::batch& rows) const;
  // The key of a row, for may_follow(): a copy, or where that would be long the row itself, which goes on anyway.
  struct kept_key {
    std::shared_ptr<const std::vector<std::byte>> copy;
    record::batch row;  // where there is no copy
  };
  kept_key key_of(const record::batch& rows, size_t row) const;
  bool may_follow(const kept_key& key, const kept_key& next) const;

 private:
  template <class Word>
  size_t first_unordered_word(const record::batch& rows) const;
  size_t first_unordered_front(const record::batch& rows) const;
  record::row_place place_of(const kept_key& key) const;

  const kernels::wide_rows rows_;
  const record::key_fronts fronts_;
  const record::row_comparator comparator_;
  const count_descents descents_;
  std::optional<record::row_codec> codec_;  // where whole rows are numbers
  uint32_t bits_beside_key_ = 0;            // of these numbers, in their low end
};

// What a sort gave, when all of it has been looked at.
struct conservation_result {
  conservation level = conservation::unknown;
  uint64_t rows_in = 0;
  uint64_t rows_out = 0;
};

// The rows that a sort gives. add() from several threads at once, the rest from one.
class outflow_check {
 public:
  // `taken`: nullopt where only the order can be looked at. `on_complete` is called once, by the thread that looks at
  // the last rows; not at all where the stream isn't read to its end.
  outflow_check(const sort_settings& settings, std::optional<record::row_tally> taken, std::string node,
                std::function<void(const conservation_result&)> on_complete);

  // Before all else: another process has looked at the rows before `first_row`.
  void begin_at(uint64_t first_row, const record::row_tally& given);
  // From here on given_before() may be asked.
  void keep_parts() { keeps_parts_ = true; }
  // The rows of the parts before `first_row`, which is the first of a part and never less than in the call before. All
  // of these parts have been looked at.
  record::row_tally given_before(uint64_t first_row);

  // A part of so many rows comes next: the number of its first row.
  uint64_t place(size_t num_rows);
  uint64_t num_placed() const { return placed_; }
  // What was made of the part. Throws error(internal) where rows are out of order, and at the end.
  void add(uint64_t first_row, size_t num_rows, std::span<const record::batch> rows);
  // The last part was placed; it may still be worked on. Throws error(internal).
  void end();

 private:
  using kept_key = row_order_check::kept_key;
  struct ends_of_part {
    kept_key first;
    kept_key last;
  };
  void look_at_order(uint64_t first_row, std::span<const record::batch> rows) const;
  void join(uint64_t first_row, size_t num_rows, ends_of_part ends) FLOWRUN_REQUIRES(mutex_);
  void complete_if_done() FLOWRUN_REQUIRES(mutex_);
  conservation_result compare() const FLOWRUN_REQUIRES(mutex_);
  void compare_bounds(uint64_t rows_out) const;
  [[noreturn]] void refuse(const std::string& what) const;
  [[noreturn]] void refuse_order(uint64_t row) const;

  const bool drops_rows_;
  const uint64_t limit_;
  const std::optional<record::row_tally> taken_;
  const std::string node_;
  const std::function<void(const conservation_result&)> on_complete_;
  const record::row_tallier tallier_;
  const row_order_check order_;
  uint64_t placed_ = 0;  // rows in parts
  bool keeps_parts_ = false;

  mutex mutex_;
  record::row_tally given_ FLOWRUN_GUARDED_BY(mutex_);
  record::row_tally given_before_ FLOWRUN_GUARDED_BY(mutex_);               // as it was asked last
  std::map<uint64_t, record::row_tally> parts_ FLOWRUN_GUARDED_BY(mutex_);  // since then, by their first row
  uint64_t done_ FLOWRUN_GUARDED_BY(mutex_) = 0;                            // rows of parts that were looked at
  std::map<uint64_t, kept_key> open_starts_ FLOWRUN_GUARDED_BY(mutex_);     // by the number of the part's first row
  std::map<uint64_t, kept_key> open_ends_ FLOWRUN_GUARDED_BY(mutex_);       // by that of the row behind
  std::optional<uint64_t> all_ FLOWRUN_GUARDED_BY(mutex_);                  // once it is known how many there are
};

}  // namespace flowrun::sort
