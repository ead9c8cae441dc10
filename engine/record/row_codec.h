// Narrow rows as numbers: a row of at most 16 bytes becomes one u64 or u128 and back.
//
// The key's parts come first, most significant, in their order-preserving form; the other columns follow. So comparing
// the numbers sorts by the key and lets the remaining bytes decide among equal keys (decision D6b), and whole rows can
// go through a SIMD sort of integers. The map is one to one: decode(encode(row)) == row. The value of a row of w bytes
// has 8 w bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/record/key.h"

namespace flowrun::record {

class row_codec {
 public:
  // True for rows of 1-16 bytes without strings.
  static bool fits(const row_type& type) {
    return !type.has_strings() && type.row_bytes() >= 1 && type.row_bytes() <= 16;
  }

  row_codec(const row_type& type, const key& parts);

  uint32_t row_bytes() const { return row_bytes_; }
  // Bits of the number that the key takes: the top `key_bits` of the 8 * row_bytes() bits in use.
  uint32_t key_bits() const { return key_bits_; }
  // A row of eight bytes that is its own number: nothing to encode or decode.
  bool is_identity() const { return identity_ && row_bytes_ == 8; }

  void encode(const std::byte* rows, size_t num_rows, uint64_t* words) const;
  void encode(const std::byte* rows, size_t num_rows, word128* words) const;
  void decode(const uint64_t* words, size_t num_rows, std::byte* rows) const;
  void decode(const word128* words, size_t num_rows, std::byte* rows) const;

  // The numbers' low row_bytes() bytes, densely packed, and back: what scratch blocks store.
  void pack(const uint64_t* words, size_t num_rows, std::byte* packed) const;
  void pack(const word128* words, size_t num_rows, std::byte* packed) const;
  void unpack(const std::byte* packed, size_t num_rows, uint64_t* words) const;
  void unpack(const std::byte* packed, size_t num_rows, word128* words) const;

 private:
  // Up to eight bytes of a column, and the place of their lowest bit in the number.
  struct placed_piece {
    key_piece piece;
    uint32_t shift;
  };
  void add_piece(type_kind kind, uint32_t offset, uint32_t num_bytes, bool descending);
  template <class Word>
  void encode_rows(const std::byte* rows, size_t num_rows, Word* words) const;
  template <class Word>
  void decode_rows(const Word* words, size_t num_rows, std::byte* rows) const;

  std::vector<placed_piece> pieces_;
  uint32_t row_bytes_ = 0;
  uint32_t key_bits_ = 0;
  uint32_t bits_left_ = 0;
  bool identity_ = false;  // the row's own bytes are the number
};

}  // namespace flowrun::record
