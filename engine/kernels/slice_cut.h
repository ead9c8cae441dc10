// One slice of several ascending sequences in memory: what lies below a common splitter, concatenated; the step that
// slice_merger.h explains, where no block has to be loaded first.
//
// Cost: with k sequences, k binary searches per slice. A slice has about as many words as were asked for when the
// sequences cover the same range, and never fewer than the share of one sequence.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

namespace flowrun::kernels {

// What is left of one sequence that lies in one piece.
template <class Word>
struct word_span {
  const Word* at = nullptr;
  size_t num_words = 0;

  Word operator[](size_t i) const { return at[i]; }
  // Moves the first `count` words to `to`.
  void take(size_t count, Word* to) {
    if (count > 0) std::memcpy(to, at, count * sizeof(Word));
    at += count;
    num_words -= count;
  }
};

// How many of the first `limit` items of an ascending sequence lie in front of the first one that `is_above`, which
// gets an item's number.
template <class IsAbove>
size_t num_below(size_t limit, IsAbove is_above) {
  size_t low = 0;
  while (low < limit) {
    const size_t middle = low + (limit - low) / 2;
    if (is_above(middle))
      limit = middle;
    else
      low = middle + 1;
  }
  return low;
}

// The step that all merges by slices share. counts[i]: how many items of sequence i the slice takes at most; afterwards
// as many of them as are not above the splitter. The splitter is the least of `bound` and of the last of those items of
// each sequence. A sequence that `is_whole` does not count, since nothing comes behind what the slice may take of it.
//   item(i, j)       the j-th item of sequence i
//   is_above(a, b)   a comes behind b
template <class Item, class ItemAt, class IsAbove, class IsWhole>
void cut_at_splitter(std::vector<size_t>& counts, std::optional<Item> bound, ItemAt item, IsAbove is_above,
                     IsWhole is_whole) {
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0 || is_whole(i)) continue;
    const Item last = item(i, counts[i] - 1);
    if (!bound || is_above(*bound, last)) bound = last;
  }
  if (!bound) return;
  for (size_t i = 0; i < counts.size(); ++i)
    counts[i] = num_below(counts[i], [&](size_t j) { return is_above(item(i, j), *bound); });
}

// How many words of each sequence the next slice of at most `max_words` > 0 takes, into `counts`: every word in it is
// at most as large as every word that is left. Returns how many all together; 0 when nothing was left.
template <class Sequences>
size_t measure_slice(const Sequences& sequences, size_t max_words, std::vector<size_t>& counts) {
  using word = std::remove_cvref_t<decltype((*sequences.begin())[0])>;
  size_t num_active = 0;
  for (const auto& s : sequences) num_active += s.num_words > 0 ? 1 : 0;
  const bool crowded = num_active > max_words;  // then copies of the smallest word are taken, as many as have room
  const size_t stride = crowded ? 1 : max_words / std::max<size_t>(num_active, 1);
  counts.clear();
  for (const auto& s : sequences) counts.push_back(std::min(stride, s.num_words));
  cut_at_splitter(
      counts, std::optional<word>(), [&](size_t i, size_t j) { return sequences[i][j]; },
      [](const word& a, const word& b) { return b < a; },
      [&](size_t i) { return !crowded && sequences[i].num_words <= stride; });
  size_t total = 0;
  for (size_t& count : counts) total += count = std::min(count, max_words - total);
  return total;
}

// Takes the next slice, not sorted, to `to`, which has room for `max_words` > 0. Returns how many; 0 when nothing was
// left.
template <class Word, class Sequences>
size_t cut_slice(Sequences& sequences, size_t max_words, Word* to) {
  std::vector<size_t> counts;
  const size_t total = measure_slice(sequences, max_words, counts);
  auto count = counts.begin();
  for (auto& s : sequences) {
    if (*count > 0) s.take(*count, to);
    to += *count++;
  }
  return total;
}

}  // namespace flowrun::kernels
