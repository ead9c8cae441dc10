#include "engine/kernels/leading_bits_sort.h"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/base/buffer.h"
#include "engine/base/mutex.h"
#include "engine/base/units.h"

namespace flowrun::kernels {

using record::word128;

namespace {

constexpr uint64_t room_bytes = 2 * MiB;
template <class Word>
constexpr size_t most_in_cache = room_bytes / sizeof(Word);
constexpr size_t few = 24;  // that are sorted by comparing them

constexpr unsigned least_digit_bits = 5, most_digit_bits = 11;
constexpr size_t most_digits = 3;

constexpr unsigned most_flag_bits = 9;         // buckets whose ends stay in the first cache
constexpr size_t wanted_in_bucket = 8 * 1024;  // on average
// Levels of distribution: as many as cost no more than the SIMD sort.
template <class Word>
constexpr unsigned most_levels = sizeof(Word) == sizeof(uint64_t) ? 2 : 4;
constexpr size_t words_ahead = 12;  // of a bucket's end, fetched into the cache

template <class Word>
unsigned width_of(Word bits) {
  if constexpr (sizeof(Word) <= sizeof(uint64_t)) {
    return static_cast<unsigned>(std::bit_width(bits));
  } else {
    const auto high = static_cast<uint64_t>(bits >> 64);
    return static_cast<unsigned>(high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<uint64_t>(bits)));
  }
}

// The bits that are not the same in all words.
template <class Word>
Word different_bits(const Word* words, size_t num_words) {
  Word different = 0;
  for (size_t i = 0; i < num_words; ++i) different |= words[i] ^ words[0];
  return different;
}

// Some bits in a row, `shift` above the lowest one; with one load of four bytes.
class digit {
 public:
  digit() = default;
  template <class Word>
  static digit at(unsigned shift, unsigned num_bits, Word different) {
    digit d;
    d.shift_ = shift;
    d.byte_ = std::min<unsigned>(shift / 8, sizeof(Word) - sizeof(uint32_t));
    d.rest_ = shift - 8 * d.byte_;
    d.mask_ = (uint32_t{1} << num_bits) - 1;
    d.num_different_ = static_cast<unsigned>(std::popcount(static_cast<uint32_t>(different >> shift) & d.mask_));
    return d;
  }
  template <class Word>
  uint32_t of(const Word& word) const {
    uint32_t bits;
    std::memcpy(&bits, reinterpret_cast<const std::byte*>(&word) + byte_, sizeof bits);
    return bits >> rest_ & mask_;
  }
  unsigned shift() const { return shift_; }
  size_t num_values() const { return size_t{mask_} + 1; }
  unsigned num_different() const { return num_different_; }

 private:
  unsigned shift_ = 0, byte_ = 0, rest_ = 0, num_different_ = 0;
  uint32_t mask_ = 0;
};

// The first digits that differ, the highest one first: bits that are the same in all words are left out between them.
struct digits {
  std::array<digit, most_digits> list;
  size_t num = 0;
  bool all = false;  // there are no other bits that differ

  template <class Word>
  void choose(Word different, unsigned num_bits, size_t most) {
    for (num = 0; num < most && different != 0; ++num) {
      const unsigned end = width_of(different), shift = end - std::min(num_bits, end);
      list[num] = digit::at(shift, end - shift, different);
      different &= static_cast<Word>((Word{1} << shift) - 1);
    }
    all = different == 0;
  }
};

using counters = std::array<uint32_t, size_t{1} << most_digit_bits>;

template <size_t NumDigits, class Word>
void count(const digits& by, const Word* words, size_t num_words, counters* counts) {
  const std::array<digit, most_digits> list = by.list;  // a copy: writing to `counts` can't change it
  for (size_t k = 0; k < NumDigits; ++k) std::fill_n(counts[k].begin(), list[k].num_values(), 0);
  for (size_t i = 0; i < num_words; ++i)
    for (size_t k = 0; k < NumDigits; ++k) ++counts[k][list[k].of(words[i])];
}

// Stable.
template <class Word>
void move_by(const digit by, counters& counts, const Word* words, size_t num_words, Word* to) {
  uint32_t sum = 0;
  for (size_t value = 0; value < by.num_values(); ++value) sum += std::exchange(counts[value], sum);
  for (size_t i = 0; i < num_words; ++i) to[counts[by.of(words[i])]++] = words[i];
}

template <class Word>
void insert_each(Word* words, size_t num_words) {
  for (size_t i = 1; i < num_words; ++i) {
    const Word word = words[i];
    size_t to = i;
    for (; to > 0 && word < words[to - 1]; --to) words[to] = words[to - 1];
    words[to] = word;
  }
}

// By comparing, where digits are not spread.
void sort_by_simd(uint64_t* words, size_t num_words) {
  hwy::Sorter()(words, num_words, hwy::SortAscending());
  if (!std::is_sorted(words, words + num_words)) std::sort(words, words + num_words);
}

// How many of the words, as far as their highest digit tells, have a neighbour with the same digits.
uint64_t expected_alike(const digits& by, const counters& highest) {
  uint64_t squares = 0;
  for (size_t value = 0; value < by.list[0].num_values(); ++value) squares += uint64_t{highest[value]} * highest[value];
  return squares >> by.list[1].num_different();
}

template <class Word>
void sort_in_cache(Word* words, size_t num_words, Word* beside);

// Words close together may lie on both sides of a power of two, where their first different bits tell little: sorted by
// their distances from the lowest one. False: these don't tell more.
template <class Word>
bool sort_by_distance(Word* words, size_t num_words, Word* beside, Word different) {
  Word lowest = words[0], highest = words[0];
  for (size_t i = 1; i < num_words; ++i) {
    lowest = std::min(lowest, words[i]);
    highest = std::max(highest, words[i]);
  }
  if (width_of(static_cast<Word>(highest - lowest)) + 1 >= width_of(different)) return false;
  for (size_t i = 0; i < num_words; ++i) words[i] -= lowest;
  sort_in_cache(words, num_words, beside);
  for (size_t i = 0; i < num_words; ++i) words[i] += lowest;
  return true;
}

// At most most_in_cache; `beside` has room for as many.
template <class Word>
void sort_in_cache(Word* words, size_t num_words, Word* beside) {
  if (num_words <= few) return insert_each(words, num_words);
  const Word different = different_bits(words, num_words);
  if (different == 0) return;
  // Together the two digits have some bits more than are needed to number the words.
  const auto digit_bits =
      std::clamp((static_cast<unsigned>(std::bit_width(num_words)) + 6) / 2, least_digit_bits, most_digit_bits);
  std::array<counters, most_digits> counts;
  digits by;
  by.choose(different, digit_bits, 2);
  if (by.num == 1) {
    count<1>(by, words, num_words, counts.data());
    move_by(by.list[0], counts[0], words, num_words, beside);
    std::memcpy(words, beside, num_words * sizeof(Word));
    if (by.all) return;
  } else {
    count<2>(by, words, num_words, counts.data());
    if (!by.all && expected_alike(by, counts[0]) > num_words / 8) {
      if (sort_by_distance(words, num_words, beside, different)) return;
      if constexpr (std::is_same_v<Word, uint64_t>) return sort_by_simd(words, num_words);
      by.choose(different, digit_bits, 3);
      count<3>(by, words, num_words, counts.data());
      move_by(by.list[2], counts[2], words, num_words, beside);
      move_by(by.list[1], counts[1], beside, num_words, words);
      move_by(by.list[0], counts[0], words, num_words, beside);
      std::memcpy(words, beside, num_words * sizeof(Word));
    } else {
      move_by(by.list[1], counts[1], words, num_words, beside);
      move_by(by.list[0], counts[0], beside, num_words, words);
    }
  }
  if (by.all) return;
  const unsigned shift = by.list[by.num - 1].shift();
  const auto same = [&](size_t a, size_t b) { return static_cast<Word>(words[a] ^ words[b]) >> shift == 0; };
  for (size_t i = 1; i < num_words; ++i) {
    if (!(words[i] < words[i - 1])) [[likely]]
      continue;
    size_t first = i - 1, last = i + 1;
    while (first > 0 && same(first - 1, i)) --first;
    while (last < num_words && same(last, i)) ++last;
    sort_in_cache(words + first, last - first, beside);
    i = last;
  }
}

template <class Word>
bool sort_level(Word* words, size_t num_words, Word* beside, unsigned level) {
  if (num_words <= most_in_cache<Word>) {
    sort_in_cache(words, num_words, beside);
    return true;
  }
  if (level == most_levels<Word>) return false;
  const unsigned first_bit = width_of(different_bits(words, num_words));
  if (first_bit == 0) return true;
  unsigned flag_bits = 1;
  while (flag_bits < std::min(most_flag_bits, first_bit) && num_words >> flag_bits > wanted_in_bucket) ++flag_bits;
  const unsigned shift = first_bit - flag_bits;
  const size_t num_buckets = size_t{1} << flag_bits;
  const auto bucket = [&](Word word) { return static_cast<size_t>(word >> shift) & (num_buckets - 1); };

  // next: where the bucket's next word goes; what lies in front of it is in its place.
  std::array<size_t, size_t{1} << most_flag_bits> next{}, end{};
  for (size_t i = 0; i < num_words; ++i) ++end[bucket(words[i])];
  // The SIMD sort of words of 8 bytes costs less than another level.
  if (std::is_same_v<Word, uint64_t> && *std::max_element(end.begin(), end.end()) > num_words / 2) return false;
  for (size_t b = 0, sum = 0; b < num_buckets; ++b) {
    next[b] = sum;
    sum = end[b] += sum;
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t b = 0; b < num_buckets; ++b) {
      // Each word goes to its bucket, and what was there comes here; words don't wait for each other.
      for (size_t i = next[b]; i < end[b]; ++i) {
        Word& to = words[next[bucket(words[i])]++];
        __builtin_prefetch(&to + words_ahead, 1);
        std::swap(words[i], to);
        moved = true;
      }
    }
  }
  for (size_t b = 0, first = 0; b < num_buckets; first = end[b++])
    if (!sort_level(words + first, end[b] - first, beside, level + 1)) return false;
  return true;
}

// Rooms of all threads: new memory costs more than sorting what fits it. There are no more than have been in use at
// once, and none is larger than it had to be: the words beside it, which belong to a budget, are.
class room_pool {
 public:
  aligned_buffer take(uint64_t num_bytes) {
    aligned_buffer out;
    {
      const mutex_lock lock(mutex_);
      if (free_.empty()) return aligned_buffer(num_bytes);
      auto at = std::find_if(free_.begin(), free_.end(),
                             [num_bytes](const aligned_buffer& room) { return room.num_bytes() >= num_bytes; });
      if (at == free_.end()) --at;
      std::swap(*at, free_.back());
      out = std::move(free_.back());
      free_.pop_back();
    }
    if (out.num_bytes() < num_bytes) out = aligned_buffer(num_bytes);
    return out;
  }
  void give_back(aligned_buffer room) noexcept {
    const mutex_lock lock(mutex_);
    try {
      free_.push_back(std::move(room));
    } catch (const std::bad_alloc&) {  // it goes
    }
  }
  // For good: threads may still sort when the process ends.
  static room_pool& all() {
    static room_pool& pool = *new room_pool;
    return pool;
  }

 private:
  mutex mutex_;
  std::vector<aligned_buffer> free_ FLOWRUN_GUARDED_BY(mutex_);
};

// Room for as many words as are moved at once. Little is kept by the thread, without a lock.
class room {
 public:
  explicit room(uint64_t num_bytes) {
    constexpr uint64_t little = 64 * KiB;
    num_bytes = std::min(std::bit_ceil(num_bytes), room_bytes);
    if (num_bytes > little) {
      borrowed_ = room_pool::all().take(num_bytes);
    } else {
      thread_local aligned_buffer own(little);
      data_ = own.data();
    }
  }
  ~room() {
    if (borrowed_) room_pool::all().give_back(std::move(borrowed_));
  }
  room(const room&) = delete;
  room& operator=(const room&) = delete;

  std::byte* data() { return borrowed_ ? borrowed_.data() : data_; }

 private:
  std::byte* data_ = nullptr;
  aligned_buffer borrowed_;
};

template <class Word>
bool sort_in_room(Word* words, size_t num_words) {
  room beside(num_words * sizeof(Word));
  return sort_level(words, num_words, reinterpret_cast<Word*>(beside.data()), 0);
}

}  // namespace

bool sort_by_leading_bits(uint32_t* words, size_t num_words) { return sort_in_room(words, num_words); }

bool sort_by_leading_bits(uint64_t* words, size_t num_words) { return sort_in_room(words, num_words); }

bool sort_by_leading_bits(word128* words, size_t num_words) { return sort_in_room(words, num_words); }

}  // namespace flowrun::kernels
