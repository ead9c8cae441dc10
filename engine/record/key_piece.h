// The layout of keys: which bytes of a row make up a part of a key, and how they become an unsigned number whose order
// is the order of the key.
//
// A piece is a number, or up to eight bytes of bytes[N]. Its bits are
//
//   unsigned, bool   themselves
//   signed, times    with the sign turned over
//   floats           with the sign turned over, and all bits where the sign was set (IEEE 754 totalOrder)
//   bytes[N]         most significant first
//   descending       all of these complemented
//
// All types that make numbers of keys put such pieces side by side, the first one highest. They are key_prefix (16
// bytes of a row's key), key_words (words of 12 bytes, with strings), key_fronts (8 bytes, a batch at a time) and
// row_codec (whole rows of up to 16 bytes, and back).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "engine/record/value_type.h"

namespace flowrun::record {

// All ones in the low `num_bytes` <= 8 bytes.
inline uint64_t low_mask(uint32_t num_bytes) {
  return num_bytes >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * num_bytes)) - 1;
}

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

struct key_piece {
  enum class transform : uint8_t { exclusive_or, floating, big_endian };
  transform order = transform::exclusive_or;
  uint32_t offset = 0;     // in the row
  uint32_t num_bytes = 0;  // 1-8
  uint64_t flip = 0;       // in the end: the sign of signed numbers, and everything where descending

  uint64_t ordered(uint64_t bits) const;   // of the field's bits, little endian
  uint64_t restored(uint64_t bits) const;  // and back
  uint64_t load(const std::byte* row) const { return ordered(load_unsigned(row + offset, num_bytes)); }
};

inline bool is_twos_complement(type_kind kind) { return value_type{kind, 0}.has_sign(); }

// Not for strings.
inline key_piece piece_of(type_kind kind, bool descending, uint32_t offset, uint32_t num_bytes) {
  key_piece p{key_piece::transform::exclusive_or, offset, num_bytes, descending ? low_mask(num_bytes) : 0};
  if (kind == type_kind::bytes) p.order = key_piece::transform::big_endian;
  if (kind == type_kind::f32 || kind == type_kind::f64) p.order = key_piece::transform::floating;
  if (is_twos_complement(kind)) p.flip ^= uint64_t{1} << (8 * num_bytes - 1);
  return p;
}

// One transform at one width: what loops over rows are made of.
template <key_piece::transform Order, uint32_t NumBytes>
struct piece_order {
  static constexpr uint32_t num_bytes = NumBytes;
  uint64_t flip;

  uint64_t ordered(uint64_t bits) const {
    if constexpr (Order == key_piece::transform::big_endian) bits = __builtin_bswap64(bits) >> (64 - 8 * NumBytes);
    if constexpr (Order == key_piece::transform::floating) bits = (bits & sign) != 0 ? ~bits & mask : bits | sign;
    return bits ^ flip;
  }
  uint64_t restored(uint64_t bits) const {
    bits ^= flip;
    if constexpr (Order == key_piece::transform::big_endian) bits = __builtin_bswap64(bits) >> (64 - 8 * NumBytes);
    if constexpr (Order == key_piece::transform::floating) bits = (bits & sign) != 0 ? bits & ~sign : ~bits & mask;
    return bits;
  }
  uint64_t load(const std::byte* field) const {
    uint64_t bits = 0;
    std::memcpy(&bits, field, NumBytes);
    return ordered(bits);
  }

 private:
  static constexpr uint64_t sign = uint64_t{1} << (8 * NumBytes - 1);
  static constexpr uint64_t mask = ~uint64_t{0} >> (64 - 8 * NumBytes);
};

// Calls `body` with the number of bytes as a compile-time constant, so that loads and stores become single
// instructions.
template <class Body>
void with_width(uint32_t num_bytes, Body body) {
  switch (num_bytes) {
    case 1: return body(std::integral_constant<uint32_t, 1>{});
    case 2: return body(std::integral_constant<uint32_t, 2>{});
    case 3: return body(std::integral_constant<uint32_t, 3>{});
    case 4: return body(std::integral_constant<uint32_t, 4>{});
    case 5: return body(std::integral_constant<uint32_t, 5>{});
    case 6: return body(std::integral_constant<uint32_t, 6>{});
    case 7: return body(std::integral_constant<uint32_t, 7>{});
    default: return body(std::integral_constant<uint32_t, 8>{});
  }
}

// Calls `body` with the piece's piece_order.
template <class Body>
void with_order(const key_piece& p, Body body) {
  using transform = key_piece::transform;
  with_width(p.num_bytes, [&](auto width) {
    constexpr uint32_t num_bytes = decltype(width)::value;
    switch (p.order) {
      case transform::exclusive_or: return body(piece_order<transform::exclusive_or, num_bytes>{p.flip});
      case transform::floating: return body(piece_order<transform::floating, num_bytes>{p.flip});
      case transform::big_endian: return body(piece_order<transform::big_endian, num_bytes>{p.flip});
    }
  });
}

// A number of `num_bytes` bytes as an unsigned number whose order is the type's order, and back. Not for text.
inline uint64_t order_bits(type_kind kind, uint32_t num_bytes, uint64_t bits) {
  return piece_of(kind, false, 0, num_bytes).ordered(bits);
}
inline uint64_t from_order_bits(type_kind kind, uint32_t num_bytes, uint64_t ordered) {
  return piece_of(kind, false, 0, num_bytes).restored(ordered);
}

inline uint64_t key_piece::ordered(uint64_t bits) const {
  if (order == transform::big_endian) bits = __builtin_bswap64(bits) >> (64 - 8 * num_bytes);
  if (order == transform::floating) {
    const uint64_t sign = uint64_t{1} << (8 * num_bytes - 1);
    bits = (bits & sign) != 0 ? ~bits & low_mask(num_bytes) : bits | sign;
  }
  return bits ^ flip;
}

inline uint64_t key_piece::restored(uint64_t bits) const {
  bits ^= flip;
  if (order == transform::big_endian) bits = __builtin_bswap64(bits) >> (64 - 8 * num_bytes);
  if (order == transform::floating) {
    const uint64_t sign = uint64_t{1} << (8 * num_bytes - 1);
    bits = (bits & sign) != 0 ? bits & ~sign : ~bits & low_mask(num_bytes);
  }
  return bits;
}

}  // namespace flowrun::record
