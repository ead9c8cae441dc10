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

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/record/key.h"

namespace flowrun::record {

// A row wherever it lies.
struct row_place {
  const std::byte* row = nullptr;
  const std::byte* heap = nullptr;
};

// Of a word in a key.
struct word_position {
  uint32_t number = 0;  // of all words
  uint32_t field = 0;   // a string, or parts of fixed width next to each other; behind the last one: the key's end
  uint32_t word = 0;    // in the field
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
  position at(const row_place& row, uint32_t number) const;
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
  // A number, or up to eight bytes of bytes[N].
  struct piece {
    type_kind kind;
    bool descending;
    uint32_t offset;
    uint32_t num_bytes;
    uint32_t shift;
  };
  struct word {
    uint32_t first_piece;
    uint32_t num_pieces;
  };
  void add_fixed(const piece& p);
  word128 fixed_word(const std::byte* row, const word& w) const;
  static word128 text_word(std::string_view text, uint32_t number, bool descending);
  static uint32_t words_of(std::string_view text) {
    return text.empty() ? 1 : (static_cast<uint32_t>(text.size()) - 1) / text_bytes + 1;
  }

  std::vector<field> fields_;
  std::vector<word> words_;
  std::vector<piece> pieces_;
  uint32_t bits_left_ = 0;  // of the last fixed word, while the fields are laid out
};

}  // namespace flowrun::record
