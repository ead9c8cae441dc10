#include "engine/kernels/row_slices.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "engine/kernels/loser_tree.h"
#include "engine/kernels/offset_value_code.h"
#include "engine/kernels/word_sort.h"

namespace flowrun::kernels {

namespace {

using record::row_place;
using record::word128;

constexpr uint32_t row_number_bits = 32;  // of an entry; above them, 12 bytes of the key

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

size_t row_slices::num_rows_before(const row_span& span, size_t limit, const row_bound& bound) const {
  size_t low = 0;
  while (low < limit) {
    const size_t middle = low + (limit - low) / 2;
    if (comes_before(bound_of(span, middle), bound))
      low = middle + 1;
    else
      limit = middle;
  }
  return low;
}

void row_slices::cut(std::span<const row_span> spans, const std::vector<bool>& ends,
                     const std::optional<row_bound>& bound, size_t stride_bytes, std::vector<size_t>& counts) const {
  counts.resize(spans.size());
  std::optional<row_bound> splitter = bound;
  for (size_t i = 0; i < spans.size(); ++i) {
    const row_span& s = spans[i];
    counts[i] = rows_within(s, stride_bytes);
    if (counts[i] == s.num_rows && ends[i]) continue;
    // Of equal rows the one of the earlier sequence: what follows it there is still to come.
    const row_bound last = bound_of(s, counts[i] - 1);
    if (!splitter || comes_before(last, *splitter)) splitter = last;
  }
  if (!splitter) return;
  for (size_t i = 0; i < spans.size(); ++i) counts[i] = num_rows_before(spans[i], counts[i], *splitter);
}

// `Coded`: the tree compares offset-value codes; else key prefixes, which are whole keys.
template <bool Coded>
struct row_slices::tournament {
  struct tie {
    const tournament* t;
    bool operator()(uint32_t a, uint32_t b, [[maybe_unused]] word128& key) const {
      if constexpr (Coded) {
        const int order = t->coder.compare(t->heads[a], t->heads[b], key);
        if (order != 0) return order < 0;
      }
      return a < b;
    }
  };

  tournament(const row_slices& all, std::span<const row_span> spans)
      : slices(all), left(spans.begin(), spans.end()), heads(spans.size()), tree(spans.size(), tie{this}) {
    for (size_t i = 0; i < left.size(); ++i) {
      if (left[i].num_rows == 0) continue;
      heads[i] = left[i][0];
      tree.set(static_cast<uint32_t>(i), Coded ? coder.first(heads[i]) : prefix_of(heads[i]));
    }
    tree.start();
  }

  void run(bool unique, std::vector<row_place>& places) {
    std::optional<word128> last;  // unique: the key of the row before
    for (uint32_t winner = tree.winner(); winner != tree.none; winner = tree.winner()) {
      const word128 key = tree.winner_key();
      const bool repeats = Coded ? coder.is_equal(key) : last == key;
      if (!unique || !repeats) places.push_back(heads[winner]);
      if (unique) last = key;
      advance(winner);
    }
  }

  void advance(uint32_t winner) {
    row_span& s = left[winner];
    s.drop(1);
    if (s.num_rows == 0) return tree.replay_exhausted();
    const row_place before = std::exchange(heads[winner], s[0]);
    if (s.entries == nullptr)
      slices.rows_.prefetch_next(s.front.row, s.front.heap, s.num_rows - 1);
    else if (s.num_rows > 2)
      __builtin_prefetch(s[2].row);
    tree.replay(Coded ? coder.relative(heads[winner], before) : prefix_of(heads[winner]));
  }

  word128 prefix_of(const row_place& row) const { return slices.prefix_(row.row, row.heap); }

  const row_slices& slices;
  const offset_value_coder<record::key_words> coder{slices.words_};
  std::vector<row_span> left;
  std::vector<row_place> heads;
  loser_tree<word128, tie> tree;
};

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

// Where prefixes are whole keys: the rows as words, how much larger the key is than the least one and the row's number
// among all, sorted. False: these don't fit.
template <class Word>
bool row_slices::sort_numbers(std::span<const row_span> spans, bool unique, std::vector<row_place>& places) const {
  size_t num_rows = 0;
  std::optional<word128> least, largest;
  for (const row_span& s : spans) {
    if (s.num_rows == 0) continue;
    num_rows += s.num_rows;
    const row_place first = s[0], last = s[s.num_rows - 1];
    const word128 from = prefix_(first.row, first.heap), to = prefix_(last.row, last.heap);
    least = std::min(least.value_or(from), from);
    largest = std::max(largest.value_or(to), to);
  }
  constexpr size_t least_rows = 64;  // the tree has less to set up
  constexpr size_t rows_ahead = 8;
  if (num_rows < least_rows) return false;
  const uint32_t unused = prefix_.unused_bits(), number_bits = static_cast<uint32_t>(std::bit_width(num_rows - 1));
  if ((*largest - *least) >> unused >> (8 * sizeof(Word) - number_bits) != 0) return false;

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
        words[number] = static_cast<Word>((keys[i] - *least) >> unused) << number_bits | number;
        rows[number] = s[from + i];
      }
    }
  }
  sort_words(words, num_rows);
  const uint64_t low = (uint64_t{1} << number_bits) - 1;
  const auto row_of = [&](Word word) { return rows[static_cast<uint64_t>(word) & low]; };
  if (!unique) {
    places.resize(num_rows);
    for (size_t i = 0; i < num_rows; ++i) places[i] = row_of(words[i]);
    return true;
  }
  for (size_t i = 0; i < num_rows; ++i)
    if (i == 0 || words[i] >> number_bits != words[i - 1] >> number_bits) places.push_back(row_of(words[i]));
  return true;
}

void row_slices::merge(std::span<const row_span> spans, bool unique, std::vector<row_place>& places) const {
  size_t num_rows = 0;
  for (const row_span& s : spans) num_rows += s.num_rows;
  places.clear();
  places.reserve(num_rows);
  if (spans.size() == 1 && !unique) {
    for (size_t i = 0; i < num_rows; ++i) places.push_back(spans[0][i]);
  } else if (!prefix_.whole()) {
    tournament<true>(*this, spans).run(unique, places);
  } else if (sort_numbers<uint64_t>(spans, unique, places)) {
    return;
  } else if (prefix_.whole_in_12() && lie_in_one_arena(spans)) {
    sort_entries(spans, unique, places);
  } else if (!sort_numbers<word128>(spans, unique, places)) {
    tournament<false>(*this, spans).run(unique, places);
  }
}

}  // namespace flowrun::kernels
