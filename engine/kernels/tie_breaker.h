// Rows whose key prefixes are equal are put in order by what follows in their keys, twelve bytes at a time. It is a
// radix sort from the front (MSD) whose digits are words; each level is sorted as numbers by SIMD.
//
//   /usr/share/doc/a    The prefixes are equal, so the group goes on behind what all of them have in common:
//   /usr/share/man/x    the entries become (next word, row number) and are sorted again, "doc/a" "man/x" "doc/b";
//   /usr/share/doc/b    here they all differ, and the entries get their prefix back. Rows whose words are equal make
//                       a smaller group that begins behind them.
//
// Comparing whole keys would read the common front of each row again for each of its log n comparisons. Here each level
// reads each row once, in an order that is known, so that it can be fetched in time. Groups of few rows are compared.
//
// A level goes up to the first word in which any row differs. Where one row after the other parts from the rest, there
// would be as many levels as rows. So where a level leaves most of its rows together, these are put in order by where
// each of them parts from the first one. Of those below it, the ones that part earlier are smaller; of those above it,
// they are larger. Rows that part from it in the same word go on with that word, as a group.
//
//   first row kkkk   kb, kkb, kkkb < kkkk < kkkz, kkz, kz
//
// Cost: the words that tell the rows apart, each read once or a few times; between them, common words at the speed of
// memcmp. No memory but a list of the groups to come; no recursion, as keys may be long.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/kernels/word_sort.h"
#include "engine/record/key_words.h"

namespace flowrun::kernels {

// `Row`: callable, from a row number to its record::row_place.
template <class Row>
class tie_breaker {
 public:
  // `words` outlives this.
  tie_breaker(const record::key_words& words, Row row) : words_(words), row_(std::move(row)) {}

  // The entries, (prefix of the key, 12 bytes) * 2^32 + row number, ascend. Afterwards entries of equal prefixes are in
  // the order of their keys, and equal keys in the order of their row numbers.
  void operator()(record::word128* entries, size_t num_entries) {
    for (size_t first = 0; first < num_entries;) {
      const size_t last = end_of_group(entries, first, num_entries);
      if (last - first > 1) order_group(entries + first, last - first);
      first = last;
    }
  }

 private:
  using position = record::key_words::position;
  using word128 = record::word128;
  static constexpr uint32_t row_number_bits = 32;
  static constexpr size_t few_rows = 16;
  static constexpr size_t num_samples = 8;
  static constexpr size_t row_distance = 16;  // entries ahead at which rows are fetched
  static constexpr size_t text_distance = 8;  // and, from these, their strings

  // Rows with equal words before `from`, in the order of their numbers.
  struct group {
    size_t first;
    size_t last;
    position from;
    bool stays_together = false;  // most rows have been together for a level
  };

  record::row_place row(word128 entry) const { return row_(static_cast<uint32_t>(entry)); }

  static size_t end_of_group(const word128* entries, size_t first, size_t num_entries) {
    const word128 key = entries[first] >> row_number_bits;
    size_t last = first + 1;
    while (last < num_entries && entries[last] >> row_number_bits == key) ++last;
    return last;
  }

  void order_group(word128* entries, size_t num_entries) {
    const word128 prefix = entries[0] >> row_number_bits << row_number_bits;
    open_.push_back({0, num_entries, {}});
    while (!open_.empty()) {
      const group g = open_.back();
      open_.pop_back();
      if (g.last - g.first < few_rows) {
        compare_rows(entries + g.first, entries + g.last, g.from);
      } else if (g.stays_together) {
        order_by_parting(entries, g);
      } else {
        order_by_next_word(entries, g);
      }
    }
    for (size_t i = 0; i < num_entries; ++i) entries[i] = prefix | static_cast<uint32_t>(entries[i]);
  }

  void compare_rows(word128* first, word128* last, const position& from) const {
    std::sort(first, last, [&](word128 a, word128 b) {
      const int order = words_.compare(row(a), row(b), from);
      return order != 0 ? order < 0 : static_cast<uint32_t>(a) < static_cast<uint32_t>(b);
    });
  }

  void order_by_next_word(word128* entries, const group& g) {
    word128* begin = entries + g.first;
    const size_t num_rows = g.last - g.first;
    const record::row_place front = row(begin[0]);
    // Some rows tell where the group's keys part, most likely; should others part earlier, they are gone through again.
    position at = words_.difference(front, row(begin[num_rows - 1]), g.from);
    for (size_t i = 1; i < num_samples; ++i)
      at = earlier(at, words_.difference(front, row(begin[num_rows * i / num_samples]), g.from));
    const position guess = at;
    for (size_t i = 0; i < num_rows; ++i) {
      if (i + row_distance < num_rows) __builtin_prefetch(row(begin[i + row_distance]).row);
      if (i + text_distance < num_rows) words_.prefetch(row(begin[i + text_distance]), g.from);
      const record::row_place r = row(begin[i]);
      at = earlier(at, words_.difference(front, r, g.from));
      if (at.number == guess.number && !words_.is_end(at)) set_key(begin[i], words_(r, at));
    }
    if (words_.is_end(at)) return;  // equal keys
    if (at.number != guess.number)
      for (size_t i = 0; i < num_rows; ++i) set_key(begin[i], words_(row(begin[i]), at));
    sort_words(begin, num_rows);
    for (size_t first = g.first; first < g.last;) {
      const size_t last = end_of_group(entries, first, g.last);
      const bool stays_together = 4 * (last - first) > 3 * num_rows;
      if (last - first > 1) open_.push_back({first, last, words_.next(row(entries[first]), at), stays_together});
      first = last;
    }
  }

  // Each row is read up to where it parts from the first one, however many of these places there are.
  void order_by_parting(word128* entries, const group& g) {
    constexpr word128 equal = word128{1} << 94, above = word128{1} << 95;
    word128* begin = entries + g.first;
    const size_t num_rows = g.last - g.first;
    const record::row_place front = row(begin[0]);
    for (size_t i = 0; i < num_rows; ++i) {
      if (i + row_distance < num_rows) __builtin_prefetch(row(begin[i + row_distance]).row);
      if (i + text_distance < num_rows) words_.prefetch(row(begin[i + text_distance]), g.from);
      const record::row_place r = row(begin[i]);
      const position at = words_.difference(front, r, g.from);
      word128 key = equal;
      if (!words_.is_end(at)) key = words_(r, at) < words_(front, at) ? word128{at.number} : above + ~at.number;
      set_key(begin[i], key);
    }
    sort_words(begin, num_rows);
    for (size_t first = g.first; first < g.last;) {
      const size_t last = end_of_group(entries, first, g.last);
      if (last - first > 1 && entries[first] >> row_number_bits != equal)
        open_.push_back({first, last, words_.difference(front, row(entries[first]), g.from)});
      first = last;
    }
  }

  static const position& earlier(const position& a, const position& b) { return b.number < a.number ? b : a; }
  static void set_key(word128& entry, word128 key) { entry = key << row_number_bits | static_cast<uint32_t>(entry); }

  const record::key_words& words_;
  Row row_;
  std::vector<group> open_;
};

}  // namespace flowrun::kernels
