// Keys: any list of columns, ascending or descending, as one notion of order (decision D5).
//
// The order of each type: unsigned, signed and bool by value; floats by IEEE 754 totalOrder (-NaN < -inf < … < -0.0 <
// +0.0 < … < inf < NaN), so that every bit pattern has its place and equal keys are equal bits; bytes[N] and string
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
  // Of rows that lie one behind the other; several times as fast where the key is numbers.
  void operator()(const std::byte* rows, size_t num_rows, uint32_t row_bytes, const std::byte* heap,
                  word128* out) const;

 private:
  struct part {
    type_kind kind;
    bool descending;
    uint32_t num_bytes;
    uint32_t offset;
  };
  // Of a key without strings: a number, or up to eight bytes of bytes[N].
  enum class transform : uint8_t { exclusive_or, floating, big_endian };
  struct piece {
    transform order;
    uint32_t offset;
    uint32_t num_bytes;
    uint32_t beyond;  // bits that have no room
    uint32_t shift;
    uint64_t flip;  // in the end
  };
  void add_piece(transform order, type_kind kind, bool descending, uint32_t offset, uint32_t num_bytes);
  word128 fixed_prefix(const std::byte* row) const;
  word128 text_prefix(const std::byte* row, const std::byte* heap) const;
  template <uint32_t NumBytes>
  static void add_numbers(const piece& p, const std::byte* rows, size_t num_rows, uint32_t row_bytes, word128* out);

  std::vector<part> parts_;
  std::vector<piece> pieces_;
  bool fixed_ = true;
  uint64_t num_bytes_ = 0;
  uint32_t bits_left_ = 128;  // while the pieces are laid out
};

// The first `num_bytes` <= 8 bytes of a text, little endian, zeros behind; reads no further and calls no memcpy.
inline uint64_t load_front(const char* text, uint32_t num_bytes) {
  if (num_bytes == 8) {
    uint64_t all = 0;
    std::memcpy(&all, text, 8);
    return all;
  }
  if (num_bytes >= 4) {
    uint32_t first = 0, last = 0;
    std::memcpy(&first, text, 4);
    std::memcpy(&last, text + num_bytes - 4, 4);
    return first | static_cast<uint64_t>(last) << (8 * (num_bytes - 4));
  }
  if (num_bytes == 0) return 0;
  const auto byte = [&](uint32_t i) { return static_cast<uint64_t>(static_cast<uint8_t>(text[i])) << (8 * i); };
  return byte(0) | byte(num_bytes / 2) | byte(num_bytes - 1);
}

// A field of `num_bytes` <= 8 bytes, little endian, as an unsigned number. It is read for each row: no call.
inline uint64_t load_unsigned(const std::byte* from, uint32_t num_bytes) {
  return load_front(reinterpret_cast<const char*>(from), num_bytes);
}

// A number of `num_bytes` bytes as an unsigned number whose order is the type's order, and back. Not for text.
uint64_t order_bits(type_kind kind, uint32_t num_bytes, uint64_t bits);
uint64_t from_order_bits(type_kind kind, uint32_t num_bytes, uint64_t ordered);

inline word128 key_prefix::fixed_prefix(const std::byte* row) const {
  word128 out = 0;
  for (const piece& p : pieces_) {
    uint64_t value = load_unsigned(row + p.offset, p.num_bytes);
    if (p.order == transform::big_endian) value = __builtin_bswap64(value) >> (64 - 8 * p.num_bytes);
    if (p.order == transform::floating) value = order_bits(type_kind::f64, p.num_bytes, value);
    out |= static_cast<word128>((value ^ p.flip) >> p.beyond) << p.shift;
  }
  return out;
}

}  // namespace flowrun::record
