// Keys: any list of columns, ascending or descending, as one notion of order (decision D5).
//
// The order of each type: unsigned, signed and bool by value. Floats by IEEE 754 totalOrder (-NaN < -inf < … < -0.0 <
// +0.0 < … < inf < NaN), so that every bit pattern has its place and equal keys are equal bits. bytes[N] and string
// byte by byte, a shorter string before its extensions. Sort, merge, join, group and unique all use this file, so they
// agree.
//
// A normalised key is a byte string whose memcmp order is the key order. Numbers become big endian with the sign folded
// in; strings escape 0x00 as 0x00 0xFF and end with 0x00 0x00; descending parts are complemented.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/record/batch.h"
#include "engine/record/key_piece.h"
#include "engine/record/row_type.h"

namespace flowrun::record {

__extension__ typedef unsigned __int128 word128;  // "using" would not silence -Wpedantic

// One column of a key. `length` > 0: only the bytes [from, from + length) of a bytes[N] column.
struct key_part {
  size_t column = 0;
  bool descending = false;
  uint32_t from = 0;
  uint32_t length = 0;
  bool operator==(const key_part&) const = default;
};
using key = std::vector<key_part>;

// Compares rows by a key. The rows may have different row types, as in a join; then the parts must agree in number,
// direction and value type. Thread-safe.
class row_comparator {
 public:
  row_comparator(const row_type& type, const key& parts) : row_comparator(type, parts, type, parts) {}
  row_comparator(const row_type& left, const key& left_parts, const row_type& right, const key& right_parts);

  // < 0, 0, > 0. The heaps may be null when the key has no strings.
  int compare(const std::byte* a, const std::byte* a_heap, const std::byte* b, const std::byte* b_heap) const;
  bool equal(const std::byte* a, const std::byte* a_heap, const std::byte* b, const std::byte* b_heap) const {
    return compare(a, a_heap, b, b_heap) == 0;
  }

 private:
  struct part {
    type_kind kind;
    bool descending;
    uint32_t num_bytes;
    uint32_t left_offset;
    uint32_t right_offset;
  };
  std::vector<part> parts_;
};

// Makes the first 16 bytes of the normalised key as a number: comparing the numbers compares those bytes. Thread-safe.
class key_prefix {
 public:
  key_prefix(const row_type& type, const key& parts);
  // Rows with equal prefixes have equal keys (all parts have fixed widths, 16 bytes at most together).
  bool whole() const { return fixed_ && num_bytes_ <= 16; }
  // The same for the first 12 bytes.
  bool whole_in_12() const { return fixed_ && num_bytes_ <= 12; }
  // How many of the low bits are 0 in all prefixes, since the key is shorter.
  uint32_t unused_bits() const { return fixed_ && num_bytes_ < 16 ? static_cast<uint32_t>(128 - 8 * num_bytes_) : 0; }

  word128 operator()(const std::byte* row, const std::byte* heap) const {
    return fixed_ ? fixed_prefix(row) : text_prefix(row, heap);
  }
  // The same for rows that lie one behind the other: several times as fast where the key is numbers.
  void operator()(const std::byte* rows, size_t num_rows, uint32_t row_bytes, const std::byte* heap,
                  word128* out) const;

 private:
  // A string, of which only offset and flip matter, or a piece.
  struct part {
    bool is_text;
    key_piece piece;
  };
  // A piece of a key without strings, and where it lies in the prefix.
  struct placed_piece {
    key_piece piece;
    uint32_t beyond;  // bits that have no room
    uint32_t shift;
  };
  void place(const key_piece& piece);
  word128 fixed_prefix(const std::byte* row) const;
  word128 text_prefix(const std::byte* row, const std::byte* heap) const;

  std::vector<part> parts_;
  std::vector<placed_piece> pieces_;
  bool fixed_ = true;
  uint64_t num_bytes_ = 0;
  uint32_t bits_left_ = 128;  // while the pieces are laid out
};

inline word128 key_prefix::fixed_prefix(const std::byte* row) const {
  word128 out = 0;
  for (const placed_piece& p : pieces_) out |= static_cast<word128>(p.piece.load(row) >> p.beyond) << p.shift;
  return out;
}

}  // namespace flowrun::record
