#include "engine/runs/delta_codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "engine/base/error.h"
#include "engine/record/key.h"

namespace flowrun::runs {

namespace {

using record::word128;

constexpr size_t group_words = 128;
constexpr size_t pad_bytes = 16;

template <class Word>
constexpr unsigned bits_of = 8 * sizeof(Word);

unsigned width_of(uint64_t value) { return static_cast<unsigned>(std::bit_width(value)); }
unsigned width_of(word128 value) {
  const auto high = static_cast<uint64_t>(value >> 64);
  return high != 0 ? 64 + width_of(high) : width_of(static_cast<uint64_t>(value));
}

// Whether differences of so many bits are stored; other widths are rounded up to all bits.
template <class Word>
constexpr bool is_width(unsigned width) {
  return width <= bits_of<Word> - 8 || width == bits_of<Word>;
}

constexpr size_t packed_bytes(size_t num_words, unsigned width) { return (num_words * width + 7) / 8; }

uint64_t load64(const std::byte* from) {
  uint64_t value = 0;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class Word>
Word load_word(const std::byte* from, uint32_t num_bytes) {
  Word value = 0;
  std::memcpy(&value, from, num_bytes);
  return value;
}

// The words one behind the other. `step` > 0: how long a word is, known to the compiler; else word_bytes says it, and
// where what follows may be read too, it is, and masked out.
template <class Word, uint32_t step>
class word_source {
 public:
  word_source(std::span<const std::byte> words, uint32_t word_bytes)
      : from_(words.data()),
        end_(words.data() + words.size()),
        word_bytes_(step > 0 ? step : word_bytes),
        mask_(static_cast<Word>(~Word{0} >> (bits_of<Word> - 8 * word_bytes_))) {}
  Word next() {
    const std::byte* at = from_;
    from_ += word_bytes_;
    if constexpr (step > 0) return load_word<Word>(at, step);
    if (static_cast<size_t>(end_ - at) >= sizeof(Word)) return load_word<Word>(at, sizeof(Word)) & mask_;
    return load_word<Word>(at, word_bytes_);
  }

 private:
  const std::byte* from_;
  const std::byte* end_;
  const uint32_t word_bytes_;
  const Word mask_;
};

// Appends numbers of up to 64 bits each; the bytes behind the last one are overwritten.
class bit_writer {
 public:
  explicit bit_writer(std::byte* to) : to_(to) {}
  void put(uint64_t value, unsigned width) {
    filling_ |= value << num_bits_;
    if (num_bits_ + width < 64) {
      num_bits_ += width;
      return;
    }
    std::memcpy(to_, &filling_, sizeof filling_);
    to_ += sizeof filling_;
    filling_ = num_bits_ == 0 ? 0 : value >> (64 - num_bits_);
    num_bits_ = num_bits_ + width - 64;
  }
  void put(word128 value, unsigned width) {
    put(static_cast<uint64_t>(value), std::min(width, 64U));
    if (width > 64) put(static_cast<uint64_t>(value >> 64), width - 64);
  }
  void flush() { std::memcpy(to_, &filling_, sizeof filling_); }

 private:
  std::byte* to_;
  uint64_t filling_ = 0;
  unsigned num_bits_ = 0;  // of filling_, below 64
};

template <class Word, uint32_t step>
size_t encode(std::span<const std::byte> words, uint32_t word_bytes, std::span<std::byte> coded) {
  const size_t num_words = words.size() / word_bytes;
  std::byte* to = coded.data();
  std::byte* const end = coded.data() + coded.size();
  if (num_words == 0 || coded.size() < word_bytes + pad_bytes) return 0;
  std::memcpy(to, words.data(), word_bytes);
  to += word_bytes;
  word_source<Word, step> source(words, word_bytes);
  Word before = source.next();
  std::array<Word, group_words> differences;
  for (size_t first = 1; first < num_words; first += group_words) {
    const size_t count = std::min(group_words, num_words - first);
    Word all = 0;
    for (size_t i = 0; i < count; ++i) {
      const Word word = source.next();
      differences[i] = word - before;
      all |= differences[i];
      before = word;
    }
    unsigned width = width_of(all);
    if (!is_width<Word>(width)) width = bits_of<Word>;
    const size_t group_bytes = 1 + packed_bytes(count, width);
    if (static_cast<size_t>(end - to) < group_bytes + pad_bytes) return 0;
    *to = static_cast<std::byte>(width);
    bit_writer bits(to + 1);
    for (size_t i = 0; i < count; ++i) bits.put(differences[i], width);
    bits.flush();
    to += group_bytes;
  }
  std::memset(to, 0, pad_bytes);
  return static_cast<size_t>(to - coded.data()) + pad_bytes;
}

// The i-th difference of `width` bits; reads up to sizeof(Word) bytes from the one where it begins.
template <class Word>
struct packed_differences {
  const std::byte* from;
  unsigned width;
  Word mask;

  packed_differences(const std::byte* bits, unsigned bit_width)
      : from(bits),
        width(bit_width),
        mask(bit_width == 0 ? Word{0} : static_cast<Word>(~Word{0} >> (bits_of<Word> - bit_width))) {}
  Word operator[](size_t i) const {
    const size_t bit = i * width;
    const std::byte* at = from + bit / 8;
    const unsigned shift = bit % 8;
    if constexpr (sizeof(Word) == sizeof(uint64_t)) {
      return (load64(at) >> shift) & mask;
    } else {
      const uint64_t high = load64(at + 8);
      const uint64_t low = load64(at) >> shift | (high << 1) << (63 - shift);
      return (static_cast<Word>(high >> shift) << 64 | low) & mask;
    }
  }
};

// Adds up `count` differences. `overlapping`: each store may write a whole Word.
template <class Word, uint32_t step, bool overlapping, class Differences>
Word add_up(const Differences& differences, size_t count, Word sum, uint32_t word_bytes, std::byte* to) {
  const size_t apart = step > 0 ? step : word_bytes;
  for (size_t i = 0; i < count; ++i) {
    sum += differences[i];
    std::memcpy(to + i * apart, &sum, overlapping ? sizeof sum : apart);
  }
  return sum;
}

template <class Word, uint32_t step>
bool decode(std::span<const std::byte> coded, uint32_t word_bytes, std::span<std::byte> words) {
  const size_t num_words = words.size() / word_bytes;
  if (num_words == 0 || coded.size() < word_bytes + pad_bytes) return false;
  const std::byte* from = coded.data();
  const std::byte* const end = coded.data() + coded.size() - pad_bytes;
  std::memcpy(words.data(), from, word_bytes);
  Word sum = load_word<Word>(from, word_bytes);
  from += word_bytes;
  for (size_t first = 1; first < num_words; first += group_words) {
    const size_t count = std::min(group_words, num_words - first);
    if (from == end) return false;
    const auto width = static_cast<unsigned>(*from++);
    if (!is_width<Word>(width) || static_cast<size_t>(end - from) < packed_bytes(count, width)) return false;
    std::byte* to = words.data() + first * word_bytes;
    // Stores of whole words reach into the words behind, which come later, if there are any.
    const bool room = static_cast<size_t>(words.data() + words.size() - to) >= count * word_bytes + sizeof(Word);
    const auto add = [&](const auto& differences) {
      return room ? add_up<Word, step, true>(differences, count, sum, word_bytes, to)
                  : add_up<Word, step, false>(differences, count, sum, word_bytes, to);
    };
    if (is_width<uint64_t>(width)) {
      sum = add(packed_differences<uint64_t>(from, width));
    } else {
      sum = add(packed_differences<Word>(from, width));
    }
    from += packed_bytes(count, width);
  }
  return from == end;
}

}  // namespace

size_t encode_deltas(std::span<const std::byte> words, uint32_t word_bytes, std::span<std::byte> coded) {
  FLOWRUN_CHECK(word_bytes >= 1 && word_bytes <= sizeof(word128) && words.size() % word_bytes == 0);
  if (word_bytes == sizeof(uint64_t)) return encode<uint64_t, sizeof(uint64_t)>(words, word_bytes, coded);
  if (word_bytes == sizeof(word128)) return encode<word128, sizeof(word128)>(words, word_bytes, coded);
  return word_bytes < sizeof(uint64_t) ? encode<uint64_t, 0>(words, word_bytes, coded)
                                       : encode<word128, 0>(words, word_bytes, coded);
}

bool decode_deltas(std::span<const std::byte> coded, uint32_t word_bytes, std::span<std::byte> words) {
  FLOWRUN_CHECK(word_bytes >= 1 && word_bytes <= sizeof(word128) && words.size() % word_bytes == 0);
  if (word_bytes == sizeof(uint64_t)) return decode<uint64_t, sizeof(uint64_t)>(coded, word_bytes, words);
  if (word_bytes == sizeof(word128)) return decode<word128, sizeof(word128)>(coded, word_bytes, words);
  return word_bytes < sizeof(uint64_t) ? decode<uint64_t, 0>(coded, word_bytes, words)
                                       : decode<word128, 0>(coded, word_bytes, words);
}

}  // namespace flowrun::runs
