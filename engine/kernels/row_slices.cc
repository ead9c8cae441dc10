#include "engine/kernels/row_slices.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "engine/kernels/row_tournament.h"
#include "engine/kernels/slice_cut.h"
#include "engine/kernels/word_sort.h"

namespace flowrun::kernels {

namespace {

using record::row_place;
using record::word128;

constexpr uint32_t row_number_bits = 32;  // of an entry; above them, 12 bytes of the key

uint32_t num_bits(word128 number) {
  const auto high = static_cast<uint64_t>(number >> 64);
  return static_cast<uint32_t>(high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<uint64_t>(number)));
}

bool lie_in_one_arena(std::span<const row_span> spans) {
  return std::all_of(spans.begin(), spans.end(),
                     [&](const row_span& s) { return s.entries != nullptr && s.front.row == spans.front().front.row; });
}

// Room for some values, kept by each thread, as new pages for each slice would take their time.
template <class Value>
Value* kept(size_t num_values) {
  thread_local std::vector<Value> values;
  if (values.size() < num_values) values.resize(num_values);
  return values.data();
}

}  // namespace

// Packed rows have their strings one behind the other, too: from the back, the first row's last (wide_rows::place).
// Rows that lie by entries are everywhere; there the length of the first one stands for all.
size_t row_slices::rows_within(const row_span& span, size_t num_bytes) const {
  const size_t row_bytes = span.row_bytes;
  if (!rows_.has_strings()) return std::clamp<size_t>(num_bytes / row_bytes, 1, span.num_rows);
  if (span.entries != nullptr)
    return std::clamp<size_t>(num_bytes / (row_bytes + rows_.heap_bytes(span[0].row)), 1, span.num_rows);
  const record::string_ref first = record::load_ref(span.front.row + rows_.strings().front());
  const size_t heap_end = size_t{first.offset} + first.length;
  const uint32_t last_string = rows_.strings().back();
  size_t low = 1;  // so many fit, or are taken anyway
  for (size_t high = span.num_rows; low < high;) {
    const size_t middle = low + (high - low + 1) / 2;
    const size_t taken = heap_end - record::load_ref(span[middle - 1].row + last_string).offset;
    if (middle * row_bytes + taken <= num_bytes)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

// Before the bound, or as far as the order of equal keys goes, up to it.
bool row_slices::comes_before(const row_bound& a, const row_bound& b) const {
  const int order = compare(a, b);
  return order < 0 || (order == 0 && a.sequence <= b.sequence);
}

void row_slices::cut(std::span<const row_span> spans, const std::vector<bool>& ends,
                     const std::optional<row_bound>& bound, size_t stride_bytes, std::vector<size_t>& counts) const {
  counts.clear();
  for (const row_span& s : spans) counts.push_back(rows_within(s, stride_bytes));
  // Of equal rows the one of the earlier sequence bounds the slice: what follows it there is still to come.
  cut_at_splitter(
      counts, bound, [&](size_t i, size_t j) { return bound_of(spans[i], j); },
      [&](const row_bound& a, const row_bound& b) { return !comes_before(a, b); },
      [&](size_t i) { return ends[i] && counts[i] == spans[i].num_rows; });
}

// The loser tree.
template <bool Coded>
void row_slices::play(std::span<const row_span> spans, bool unique, std::vector<row_place>& places) const {
  row_tournament<Coded> heads(spans.size(), prefix_, words_);
  std::vector<row_span> left(spans.begin(), spans.end());
  for (uint32_t i = 0; i < left.size(); ++i)
    if (left[i].num_rows > 0) heads.set(i, left[i][0]);
  heads.start();
  for (uint32_t winner = heads.winner(); winner != heads.none; winner = heads.winner()) {
    if (!unique || !heads.repeats_last()) places.push_back(heads.head(winner));
    row_span& s = left[winner];
    s.drop(1);
    if (s.num_rows == 0) {
      heads.replay_exhausted();
      continue;
    }
    if (s.entries == nullptr)
      rows_.prefetch_next(s.front.row, s.front.heap, s.num_rows - 1);
    else if (s.num_rows > 2)
      __builtin_prefetch(s[2].row);
    heads.replay(s[0]);
  }
}

// Entries are all there is to compare, and the rows' numbers in them keep the order of equal keys.
void row_slices::sort_entries(std::span<const row_span> spans, bool unique, std::vector<row_place>& places) const {
  size_t num_rows = 0;
  for (const row_span& s : spans) num_rows += s.num_rows;
  word128* const entries = kept<word128>(num_rows);
  word128* to = entries;
  for (const row_span& s : spans) to = std::copy_n(s.entries, s.num_rows, to);
  sort_words(entries, num_rows);
  const row_span all = spans.front();
  for (size_t i = 0; i < num_rows; ++i) {
    if (unique && i > 0 && entries[i] >> row_number_bits == entries[i - 1] >> row_number_bits) continue;
    places.push_back({all.front.row + static_cast<uint32_t>(entries[i]) * size_t{all.row_bytes}, all.front.heap});
  }
}

// Prefixes, which are whole keys here, as numbers: how much larger than the least one.
row_slices::numbering row_slices::number(std::span<const row_span> spans) const {
  numbering out;
  std::optional<word128> least, largest;
  for (const row_span& s : spans) {
    if (s.num_rows == 0) continue;
    out.num_rows += s.num_rows;
    const row_place first = s[0], last = s[s.num_rows - 1];
    const word128 from = prefix_(first.row, first.heap), to = prefix_(last.row, last.heap);
    least = std::min(least.value_or(from), from);
    largest = std::max(largest.value_or(to), to);
  }
  if (out.num_rows == 0) return out;
  out.least = *least;
  out.row_bits = static_cast<uint32_t>(std::bit_width(out.num_rows - 1));
  out.num_bits = num_bits((*largest - *least) >> prefix_.unused_bits()) + out.row_bits;
  return out;
}

// The rows as words, the number of each key and below it the row's number among all, sorted.
template <class Word>
void row_slices::sort_numbers(std::span<const row_span> spans, const numbering& n, bool unique,
                              std::vector<row_place>& places) const {
  constexpr size_t rows_ahead = 8;
  const size_t num_rows = n.num_rows;
  const uint32_t unused = prefix_.unused_bits();
  Word* const words = kept<Word>(num_rows);
  row_place* const rows = kept<row_place>(num_rows);
  std::array<word128, 256> keys;
  size_t number = 0;
  for (const row_span& s : spans) {
    for (size_t from = 0; from < s.num_rows; from += keys.size()) {
      const size_t count = std::min(keys.size(), s.num_rows - from);
      if (s.entries == nullptr) {
        prefix_(s[from].row, count, s.row_bytes, s.front.heap, keys.data());
      } else if (prefix_.whole_in_12()) {
        for (size_t i = 0; i < count; ++i) keys[i] = s.entries[from + i] >> row_number_bits << row_number_bits;
      } else {
        for (size_t i = 0; i < count; ++i) {
          if (from + i + rows_ahead < s.num_rows) __builtin_prefetch(s[from + i + rows_ahead].row);
          keys[i] = prefix_(s[from + i].row, s.front.heap);
        }
      }
      for (size_t i = 0; i < count; ++i, ++number) {
        words[number] = static_cast<Word>((keys[i] - n.least) >> unused) << n.row_bits | number;
        rows[number] = s[from + i];
      }
    }
  }
  sort_words(words, num_rows);
  const uint64_t low = (uint64_t{1} << n.row_bits) - 1;
  const auto row_of = [&](Word word) { return rows[static_cast<uint64_t>(word) & low]; };
  if (!unique) {
    places.resize(num_rows);
    for (size_t i = 0; i < num_rows; ++i) places[i] = row_of(words[i]);
    return;
  }
  for (size_t i = 0; i < num_rows; ++i)
    if (i == 0 || words[i] >> n.row_bits != words[i - 1] >> n.row_bits) places.push_back(row_of(words[i]));
}

row_slices::way row_slices::way_of(std::span<const row_span> spans, const numbering& n, bool unique) const {
  constexpr size_t few_rows = 64;  // the tree has less to set up
  if (spans.size() == 1 && !unique) return way::as_they_are;
  if (!prefix_.whole()) return way::tree_of_codes;
  if (n.num_rows >= few_rows && n.num_bits <= 64) return way::words_of_8;
  if (prefix_.whole_in_12() && lie_in_one_arena(spans)) return way::entries;
  if (n.num_rows >= few_rows && n.num_bits <= 128) return way::words_of_16;
  return way::tree_of_prefixes;
}

void row_slices::merge(std::span<const row_span> spans, bool unique, std::vector<row_place>& places) const {
  size_t num_rows = 0;
  for (const row_span& s : spans) num_rows += s.num_rows;
  places.clear();
  places.reserve(num_rows);
  const numbering n = prefix_.whole() ? number(spans) : numbering{};
  switch (way_of(spans, n, unique)) {
    case way::as_they_are:
      for (size_t i = 0; i < num_rows; ++i) places.push_back(spans[0][i]);
      return;
    case way::words_of_8: return sort_numbers<uint64_t>(spans, n, unique, places);
    case way::entries: return sort_entries(spans, unique, places);
    case way::words_of_16: return sort_numbers<word128>(spans, n, unique, places);
    case way::tree_of_prefixes: return play<false>(spans, unique, places);
    case way::tree_of_codes: return play<true>(spans, unique, places);
  }
}

}  // namespace flowrun::kernels
