// Slices of ascending sequences of rows, which are merged independently of each other, so that several threads merge:
// what slice_cut.h and slice_merger.h do for words, for rows of any width and any key.
//
//   run 1   a c f | k p ...      splitter f: a c f and b e are one slice, merged by one thread,
//   run 2   b e | h m ...        while another one merges the next: k p, h m.
//
// A slice is what lies up to a common splitter in each of several sequences (splitters: Varman, Scheufler, Iyer,
// Ricard, "Merging multiple lists on hierarchical-memory multiprocessors"). Where keys have at most 16 bytes, a key's
// distance to the slice's least one and a row's number fit a word of 8 or, nearly always, of 16 bytes. Then the slice
// is sorted again as such words, by their bits (leading_bits_sort.h): half the work of a tree. Where all sequences lie
// in one arena and keys have at most 12 bytes, their entries are such words already. Other slices are merged by a loser
// tree, with offset-value codes where keys are longer. Sorting these again, 12 bytes at a time, takes up to two and a
// half times as long where they have much in common (docs/sort-kernels.md).
//
// Order of equal keys: by sequence, then by position, so that merging is stable. A splitter therefore is not only a key
// but a place: (key, sequence).
//
// Cost: k binary searches per slice of k sequences, log k comparisons per row.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/kernels/wide_rows.h"
#include "engine/record/key.h"
#include "engine/record/key_words.h"

namespace flowrun::kernels {

// What is left of an ascending sequence of rows that lies in one piece: packed one after the other, or in an arena, in
// the order of entries whose low 32 bits are row numbers.
struct row_span {
  record::row_place front;                   // the first row; with entries: row 0 of the arena
  const record::word128* entries = nullptr;  // null: packed
  size_t num_rows = 0;
  uint32_t row_bytes = 0;
  uint32_t sequence = 0;  // which of equal rows comes first

  record::row_place operator[](size_t i) const {
    const size_t number = entries == nullptr ? i : static_cast<uint32_t>(entries[i]);
    return {front.row + number * row_bytes, front.heap};
  }
  row_span first(size_t count) const {
    row_span out = *this;
    out.num_rows = count;
    return out;
  }
  void drop(size_t count) {
    if (entries == nullptr)
      front.row += count * row_bytes;
    else
      entries += count;
    num_rows -= count;
  }
};

// One slice: its parts ascend, each by itself.
struct row_slice {
  std::vector<row_span> parts;
  std::vector<std::shared_ptr<const void>> owners;  // of where the rows lie
  size_t num_rows = 0;
  size_t text_bytes = 0;  // what the rows refer to; counted where they are few, of which one may be very long
};

// Where a slice may end at most: before the first row of `sequence` that is not there yet, whose key is that of `row`,
// or `prefix` where prefixes are whole keys.
struct row_bound {
  record::row_place row;
  record::word128 prefix = 0;
  uint32_t sequence = 0;
};

// Cuts and merges slices by one key. Thread-safe.
class row_slices {
 public:
  row_slices(const record::row_type& type, const record::key& key)
      : rows_(type, key), prefix_(type, key), words_(type, key) {}

  // How many rows of each span belong to the next slice, into `counts`: at most `stride_bytes` of each with their
  // strings, but one row at least. A span is what is loaded of its sequence; `ends[i]`: nothing comes after it. All
  // zeros when nothing may be taken before more is loaded.
  void cut(std::span<const row_span> spans, const std::vector<bool>& ends, const std::optional<row_bound>& bound,
           size_t stride_bytes, std::vector<size_t>& counts) const;

  // The rows of the spans in order, into `places`. With `unique` only the first of equal rows. Of spans in one arena,
  // rows of an earlier sequence have lower numbers.
  void merge(std::span<const row_span> spans, bool unique, std::vector<record::row_place>& places) const;

  const wide_rows& rows() const { return rows_; }
  // Compares the bounds' keys.
  bool less(const row_bound& a, const row_bound& b) const { return compare(a, b) < 0; }

 private:
  // How a slice is put in order.
  enum class way {
    as_they_are,       // one part alone
    words_of_8,        // keys as numbers and the rows' own, sorted
    entries,           // sorted as they are, which hold the whole key
    words_of_16,       // as words_of_8, where those are too short
    tree_of_prefixes,  // by a loser tree: few rows, or where numbers are too long
    tree_of_codes,     // likewise, where keys are longer than their prefixes
  };
  // Rows as numbers: those of their keys, and below them their own.
  struct numbering {
    size_t num_rows = 0;
    record::word128 least = 0;  // key, which has the number 0
    uint32_t row_bits = 0;      // of a row's number
    uint32_t num_bits = 0;      // of both
  };
  numbering number(std::span<const row_span> spans) const;
  way way_of(std::span<const row_span> spans, const numbering& n, bool unique) const;
  template <class Word>
  void sort_numbers(std::span<const row_span> spans, const numbering& n, bool unique,
                    std::vector<record::row_place>& places) const;
  void sort_entries(std::span<const row_span> spans, bool unique, std::vector<record::row_place>& places) const;
  template <bool Coded>
  void play(std::span<const row_span> spans, bool unique, std::vector<record::row_place>& places) const;
  size_t rows_within(const row_span& span, size_t num_bytes) const;
  int compare(const row_bound& a, const row_bound& b) const {
    if (!prefix_.whole()) return words_.compare(a.row, b.row);
    return a.prefix < b.prefix ? -1 : a.prefix > b.prefix ? 1 : 0;
  }
  row_bound bound_of(const row_span& span, size_t i) const {
    const record::row_place row = span[i];
    return {row, prefix_.whole() ? prefix_(row.row, row.heap) : 0, span.sequence};
  }
  bool comes_before(const row_bound& a, const row_bound& b) const;

  const wide_rows rows_;
  const record::key_prefix prefix_;
  const record::key_words words_;
};

}  // namespace flowrun::kernels
