// A key as a sequence of words of 12 bytes, any of which can be had without the ones before it.
//
// The words of two keys, compared one after the other, give the order of the keys, as the bytes of the normalised key
// do (key.h). But a word can be made from the row directly once it is known which one: nothing in front of it has to be
// looked at for escapes.
//
//   fixed parts   next to each other fill words as they fit: {u32 a, u64 b, u8 c} is the words ab, c
//   string        words of 11 bytes of the text, zeros behind its end, and a last byte that says how many bytes of the
//                 text were left: 0-11, or 12 for "more, in the next word". "a" < "a\0" < "b" by that byte.
//   descending    complemented
//
// A position is the number of a word. Which part of the key it lies in depends on the lengths of the strings before it,
// so a position holds for all rows whose words before it are equal, and only for those.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/record/key.h"

namespace flowrun::record {

// A row wherever it lies.
struct row_place {
  const std::byte* row = nullptr;
  const std::byte* heap = nullptr;
};

// Of a word in a key. (Whole registers: two numbers in one would be put together in memory, and waited for.)
struct word_position {
  size_t number = 0;  // of all words
  size_t field = 0;   // a string, or parts of fixed width next to each other; behind the last one: the key's end
  size_t word = 0;    // in the field
};

// Thread-safe.
class key_words {
 public:
  static constexpr uint32_t word_bits = 96;
  static constexpr uint32_t text_bytes = 11;  // of a string, in each word

  using position = word_position;

  key_words(const row_type& type, const key& parts);

  bool is_end(const position& p) const { return p.field == fields_.size(); }
  // The row's word there: the low 96 bits. Not at the end.
  word128 operator()(const row_place& row, const position& p) const;
  // The first word from `from` on in which the rows differ, or the end. Their words before `from` must be equal.
  position difference(const row_place& a, const row_place& b, const position& from = {}) const;
  // < 0, 0, > 0. Their words before `from` must be equal.
  int compare(const row_place& a, const row_place& b, const position& from = {}) const;
  // The position behind `p`.
  position next(const row_place& row, const position& p) const;
  // The row's word `number`, which exists.
  position at(const row_place& row, size_t number) const;
  // The row's own bytes are in the cache: so will be those that make the word there.
  void prefetch(const row_place& row, const position& p) const;

 private:
  struct field {
    bool is_text;
    bool descending;      // text only
    uint32_t offset;      // text: of the string_ref
    uint32_t first_word;  // fixed: in words_
    uint32_t num_words;   // fixed
  };
  struct placed_piece {
    key_piece piece;
    uint32_t shift;
  };
  struct word {
    uint32_t first_piece;
    uint32_t num_pieces;
  };
  void add_fixed(type_kind kind, bool descending, uint32_t offset, uint32_t num_bytes);
  word128 fixed_word(const std::byte* row, const word& w) const;
  static word128 text_word(std::string_view text, size_t number, bool descending);
  static size_t common_end(const char* a, const char* b, size_t from, size_t num_bytes);
  static size_t words_of(std::string_view text) { return text.empty() ? 1 : (text.size() - 1) / text_bytes + 1; }

  std::vector<field> fields_;
  std::vector<word> words_;
  std::vector<placed_piece> pieces_;
  uint32_t bits_left_ = 0;  // of the last fixed word, while the fields are laid out
};

// What a merge does for each row is defined here, to be compiled into it.

inline word128 key_words::fixed_word(const std::byte* row, const word& w) const {
  word128 out = 0;
  for (uint32_t i = w.first_piece; i < w.first_piece + w.num_pieces; ++i) {
    const placed_piece& p = pieces_[i];
    out |= static_cast<word128>(p.piece.load(row)) << p.shift;
  }
  return out;
}

inline word128 key_words::text_word(std::string_view text, size_t number, bool descending) {
  const size_t from = number * text_bytes;
  const auto left = static_cast<uint32_t>(std::min<size_t>(text.size() - from, text_bytes + 1));
  const char* at = text.data() + from;
  uint64_t high = 0, low = 0;
  if (left >= text_bytes) {
    high = load_front(at, 8);
    low = load_front(at + 3, 8) >> 40;
  } else {
    high = load_front(at, std::min(left, 8U));
    if (left > 8) low = load_front(at + 8, left - 8);
  }
  const word128 out = static_cast<word128>(__builtin_bswap64(high)) << 32 | __builtin_bswap64(low) >> 32 | left;
  return descending ? ~out & ((static_cast<word128>(1) << word_bits) - 1) : out;
}

// Where, from `from` on, the first bytes differ; num_bytes if none do.
inline size_t key_words::common_end(const char* a, const char* b, size_t from, size_t num_bytes) {
  size_t i = from;
  for (; i + 8 <= num_bytes; i += 8) {
    const uint64_t differs = load_front(a + i, 8) ^ load_front(b + i, 8);
    if (differs != 0) return i + static_cast<uint32_t>(__builtin_ctzll(differs)) / 8;
  }
  const auto rest = static_cast<uint32_t>(num_bytes - i);
  if (rest == 0) return num_bytes;
  const uint64_t differs = load_front(a + i, rest) ^ load_front(b + i, rest);
  return differs == 0 ? num_bytes : i + static_cast<uint32_t>(__builtin_ctzll(differs)) / 8;
}

inline word128 key_words::operator()(const row_place& row, const position& p) const {
  const field& f = fields_[p.field];
  return f.is_text ? text_word(load_string(row.row + f.offset, row.heap), p.word, f.descending)
                   : fixed_word(row.row, words_[f.first_word + p.word]);
}

inline key_words::position key_words::difference(const row_place& a, const row_place& b, const position& from) const {
  position p = from;
  for (; p.field < fields_.size(); ++p.field, p.word = 0) {
    const field& f = fields_[p.field];
    if (f.is_text) {
      const std::string_view left = load_string(a.row + f.offset, a.heap);
      const std::string_view right = load_string(b.row + f.offset, b.heap);
      const size_t shorter = std::min(left.size(), right.size());
      size_t same = common_end(left.data(), right.data(), p.word * text_bytes, shorter);
      const bool equal = left.size() == right.size() && same == shorter;
      // Where one ends, its last word, which says so, is the one that differs.
      if (!equal && same == shorter && same > 0) --same;
      const size_t until = equal ? words_of(left) : same / text_bytes;
      p.number += until - p.word;
      p.word = until;
      if (!equal) return p;
    } else {
      for (; p.word < f.num_words; ++p.word, ++p.number) {
        const word& w = words_[f.first_word + p.word];
        if (fixed_word(a.row, w) != fixed_word(b.row, w)) return p;
      }
    }
  }
  return p;
}

}  // namespace flowrun::record
