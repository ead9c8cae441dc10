// How order that is there already is found and used:
//
//   peek      Sixteen windows of neighbours, spread over the words. Random input shows itself in the first few, several
//             sorted sequences one behind the other in how the windows follow each other: both go to the general sort.
//   runs      One pass finds where the words stop to ascend or descend. Sorted input ends here, at the speed of reading
//             it; descending input is reversed; two runs (an organ pipe, sorted halves) are merged in place, with room
//             for some words beside.
//   disorder  More runs, but ascending as a whole: words out of order are dropped behind those kept (drop-merge sort,
//             Rönnblom 2017), sorted by themselves and merged back. Too many of them: the general sort.
//
// Words are dropped in place: what was dropped lies between those kept and those not yet seen, and a word to keep is
// exchanged with the first of them.
//
// Cost, measured in ns a word (2 M words); more runs are merged no faster than they are sorted:
//
//              random   sorted   reversed   500 exchanged   organ pipe   two sorted halves
//    8 bytes     6.1      0.3      0.6           1.3            4.9              4.8
//   16 bytes    10.0      0.7      1.3           2.4            7.3              7.1

#include "engine/kernels/word_sort.h"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "engine/kernels/leading_bits_sort.h"

namespace flowrun::kernels {

namespace {

constexpr size_t small = 32;            // below this the dispatch costs more than the sort
constexpr size_t worth_peeking = 1024;  // below this sorting costs less than finding out
// Below this the SIMD sort costs less.
template <class Word>
constexpr size_t worth_leading_bits = sizeof(Word) > sizeof(uint64_t) ? 64 : 512;
constexpr size_t num_windows = 16;
constexpr size_t window = 8;     // neighbours looked at together
constexpr size_t most_runs = 2;  // whose merging costs less than sorting
constexpr size_t most_dropped = 8192;
constexpr size_t most_back = 8;             // words kept that may turn out to be the ones out of order
constexpr size_t room_bytes = 1024 * 1024;  // beside the words, for merging

// The first place i where `out_of_order(words[i - 1], words[i])`; num_words if there is none. Counts in chunks instead
// of leaving early, so that the loop vectorises.
template <class Word, class OutOfOrder>
size_t first_place(const Word* words, size_t num_words, OutOfOrder out_of_order) {
  size_t last = 1;
  for (size_t first = 1, chunk = 64; first < num_words; first = last, chunk = std::min<size_t>(2 * chunk, 4096)) {
    last = std::min(first + chunk, num_words);
    size_t places = 0;
    for (size_t i = first; i < last; ++i) places += out_of_order(words[i - 1], words[i]) ? 1 : 0;
    if (places == 0) continue;
    for (size_t i = first;; ++i)
      if (out_of_order(words[i - 1], words[i])) return i;
  }
  return num_words;
}
template <class Word>
size_t first_descent(const Word* words, size_t num_words) {
  return first_place(words, num_words, [](Word a, Word b) { return b < a; });
}
template <class Word>
size_t first_ascent(const Word* words, size_t num_words) {
  return first_place(words, num_words, [](Word a, Word b) { return a < b; });
}

enum class likely { ascending, descending, runs, neither };

template <class Word>
likely peek(const Word* words, size_t num_words) {
  size_t ascending = 0, descending = 0, neither = 0;
  size_t breaks = 0;  // between windows, where what the first one does doesn't go on: no more than runs end
  // At uneven distances, so that runs of equal lengths don't show the same part of themselves to each window.
  const size_t stride = (num_words - window) / num_windows;
  auto place = [&](size_t i) { return words + stride * i + stride * (7 * i % num_windows) / num_windows; };
  for (size_t i = 0; i < num_windows; ++i) {
    const Word* at = place(i);
    size_t rises = 0, falls = 0;
    for (size_t j = 1; j < window; ++j) {
      rises += at[j - 1] < at[j] ? 1 : 0;
      falls += at[j] < at[j - 1] ? 1 : 0;
    }
    if (rises > 0 && falls > 0) {
      if (++neither > 3) return likely::neither;  // a few may have met a word out of order
      continue;
    }
    ascending += falls == 0 ? 1 : 0;
    descending += rises == 0 ? 1 : 0;
    if (i + 1 == num_windows) break;
    const Word next = *place(i + 1);
    if ((rises > 0 && next < at[0]) || (falls > 0 && at[0] < next))
      if (++breaks >= most_runs) return likely::neither;
  }
  if (ascending + neither == num_windows) return likely::ascending;
  return descending + neither == num_windows ? likely::descending : likely::runs;
}

// Where up to `most_runs` ascending or descending runs begin, and the end; empty when there are more.
template <class Word>
std::vector<size_t> find_runs(const Word* words, size_t num_words) {
  std::vector<size_t> starts{0};
  for (size_t at = 0; at < num_words; starts.push_back(at)) {
    if (starts.size() > most_runs) return {};
    const size_t left = num_words - at;
    const size_t rising = first_descent(words + at, std::min(left, window));
    const size_t falling = first_ascent(words + at, std::min(left, window));
    at += rising >= falling ? first_descent(words + at, left) : first_ascent(words + at, left);
  }
  return starts;
}

template <class Word>
void sort_unordered(Word* words, size_t num_words) {
  if (num_words >= worth_leading_bits<Word> && sort_by_leading_bits(words, num_words)) return;
  if constexpr (sizeof(Word) <= sizeof(uint64_t)) {
    hwy::Sorter()(words, num_words, hwy::SortAscending());
  } else {
    static_assert(sizeof(hwy::uint128_t) == sizeof(Word));
    hwy::Sorter()(reinterpret_cast<hwy::uint128_t*>(words), num_words, hwy::SortAscending());
  }
  if (first_descent(words, num_words) != num_words) std::sort(words, words + num_words);
}

// Drops words out of order behind the others. Returns how many were kept, in front; 0 when there are too many to drop.
template <class Word>
size_t drop_disorder(Word* words, size_t num_words) {
  size_t kept = first_descent(words, num_words);
  size_t in_a_row = 0;  // dropped since a word was kept
  for (size_t next = kept; next < num_words; ++next) {
    if (words[kept - 1] <= words[next]) {
      std::swap(words[kept++], words[next]);
      in_a_row = 0;
      continue;
    }
    // Either this word is too small, or the ones kept last were too large.
    const size_t back = std::min(++in_a_row, most_back);
    if (kept > back && words[kept - 1 - back] <= words[next]) {
      kept -= back;
      std::swap(words[kept++], words[next]);
      in_a_row = 0;
    }
    const size_t dropped = next + 1 - kept;
    if (dropped > most_dropped || dropped > 32 + next / 16) return 0;
  }
  return kept;
}

// A few words at the end, ascending as the many in front of them are: each to its place. `room` for the few.
template <class Word>
void merge_back(Word* words, size_t num_many, size_t num_few, Word* room) {
  std::copy_n(words + num_many, num_few, room);
  Word* to = words + num_many + num_few;
  while (num_few > 0) {
    const Word insert = room[--num_few];
    Word* const above = std::upper_bound(words, words + num_many, insert);
    to = std::move_backward(above, words + num_many, to);
    num_many = static_cast<size_t>(above - words);
    *--to = insert;
  }
}

// Two ascending sequences, one behind the other, into one. What doesn't fit the room is cut into smaller merges, by
// exchanging what is large in the first for what is small in the second.
template <class Word>
void merge_in_place(Word* first, Word* second, Word* end, std::span<Word> room) {
  if (first == second || second == end) return;
  first = std::upper_bound(first, second, *second);
  if (first == second) return;
  end = std::lower_bound(second, end, second[-1]);
  const auto num_first = static_cast<size_t>(second - first), num_second = static_cast<size_t>(end - second);
  if (num_first <= num_second && num_first <= room.size()) {
    std::copy(first, second, room.data());
    std::merge(room.data(), room.data() + num_first, second, end, first);
    return;
  }
  if (num_second <= room.size()) {
    std::copy(second, end, room.data());
    std::merge(std::reverse_iterator(second), std::reverse_iterator(first),
               std::reverse_iterator(room.data() + num_second), std::reverse_iterator(room.data()),
               std::reverse_iterator(end), std::greater<>());
    return;
  }
  Word *first_cut, *second_cut;
  if (num_first >= num_second) {
    first_cut = first + num_first / 2;
    second_cut = std::lower_bound(second, end, *first_cut);
  } else {
    second_cut = second + num_second / 2;
    first_cut = std::upper_bound(first, second, *second_cut);
  }
  Word* const middle = std::rotate(first_cut, second, second_cut);
  merge_in_place(first, first_cut, middle, room);
  merge_in_place(middle, second_cut, end, room);
}

template <class Word>
void merge_runs(Word* words, std::vector<size_t> starts) {
  for (size_t i = 0; i + 1 < starts.size(); ++i)
    if (words[starts[i + 1] - 1] < words[starts[i]]) std::reverse(words + starts[i], words + starts[i + 1]);
  if (starts.size() == 2) return;
  const size_t room_words = std::min(starts.back() / 2, room_bytes / sizeof(Word));
  const auto memory = std::make_unique_for_overwrite<Word[]>(room_words);
  const std::span<Word> room(memory.get(), room_words);
  while (starts.size() > 2) {
    std::vector<size_t> merged{0};
    for (size_t i = 2; i < starts.size(); i += 2) {
      merge_in_place(words + starts[i - 2], words + starts[i - 1], words + starts[i], room);
      merged.push_back(starts[i]);
    }
    if (merged.back() != starts.back()) merged.push_back(starts.back());
    starts = std::move(merged);
  }
}

// True when that sorted the words; else they lie in some other order.
template <class Word>
bool sort_by_order_found(Word* words, size_t num_words) {
  const likely order = peek(words, num_words);
  if (order == likely::neither) return false;
  std::vector<size_t> runs = find_runs(words, num_words);
  if (!runs.empty()) {
    merge_runs(words, std::move(runs));
    return true;
  }
  if (order == likely::runs) return false;
  if (order == likely::descending) std::reverse(words, words + num_words);
  const size_t kept = drop_disorder(words, num_words);
  if (kept == 0) return false;
  const size_t dropped = num_words - kept;
  sort_words(words + kept, dropped);
  const auto room = std::make_unique_for_overwrite<Word[]>(dropped);
  merge_back(words, kept, dropped, room.get());
  return true;
}

template <class Word>
void sort_any(Word* words, size_t num_words) {
  if (num_words <= small) return std::sort(words, words + num_words);
  if (num_words >= worth_peeking && sort_by_order_found(words, num_words)) return;
  sort_unordered(words, num_words);
}

}  // namespace

void sort_words(uint32_t* words, size_t num_words) { sort_any(words, num_words); }

void sort_words(uint64_t* words, size_t num_words) { sort_any(words, num_words); }

void sort_words(record::word128* words, size_t num_words) { sort_any(words, num_words); }

}  // namespace flowrun::kernels
