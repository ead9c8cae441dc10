#include "engine/record/row_codec.h"

#include <algorithm>

#include "engine/base/error.h"

namespace flowrun::record {

namespace {

// Whether a piece lies in one half of a word of 16 bytes as a whole, so that it can be put and taken there as a number
// of 8 bytes, for a third of the price.
template <class Word>
bool lies_in_a_half(uint32_t shift, uint32_t num_bytes) {
  return sizeof(Word) > sizeof(uint64_t) && (shift >= 64 || shift + 8 * num_bytes <= 64);
}
uint64_t load_half(const void* words, size_t half) {
  uint64_t bits;
  std::memcpy(&bits, static_cast<const std::byte*>(words) + half * sizeof bits, sizeof bits);
  return bits;
}
void store_half(void* words, size_t half, uint64_t bits) {
  std::memcpy(static_cast<std::byte*>(words) + half * sizeof bits, &bits, sizeof bits);
}

}  // namespace

row_codec::row_codec(const row_type& type, const key& parts)
    : row_bytes_(type.row_bytes()), bits_left_(8 * type.row_bytes()) {
  FLOWRUN_CHECK(fits(type));
  std::vector<bool> used(row_bytes_, false);
  auto add = [&](size_t column, uint32_t from, uint32_t length, bool descending) {
    const flowrun::record::column& c = type[column];
    const uint32_t end = length > 0 ? from + length : c.type.num_bytes;
    const bool text = c.type.is_bytes();
    while (from < end) {  // bytes in pieces of eight; a part that an earlier one covers adds nothing to the order
      const uint32_t offset = c.offset + from;
      if (text && used[offset]) {
        ++from;
        continue;
      }
      uint32_t num_bytes = text ? 1 : end - from;
      while (text && num_bytes < 8 && from + num_bytes < end && !used[offset + num_bytes]) ++num_bytes;
      if (!used[offset]) add_piece(c.type.kind, offset, num_bytes, descending);
      for (uint32_t i = 0; i < num_bytes; ++i) used[offset + i] = true;
      from += num_bytes;
    }
  };
  for (const key_part& p : parts) add(p.column, p.from, p.length, p.descending);
  key_bits_ = 8 * row_bytes_ - bits_left_;
  for (size_t i = 0; i < type.num_columns(); ++i) add(i, 0, 0, false);
  FLOWRUN_CHECK(bits_left_ == 0);
  const key_piece& first = pieces_[0].piece;
  identity_ = pieces_.size() == 1 && first.flip == 0 && first.order == key_piece::transform::exclusive_or;
}

void row_codec::add_piece(type_kind kind, uint32_t offset, uint32_t num_bytes, bool descending) {
  bits_left_ -= 8 * num_bytes;
  pieces_.push_back({piece_of(kind, descending, offset, num_bytes), bits_left_});
}

namespace {

// A column's piece of `count` rows to or from their words, at one transform and width. Everything is a local of the
// loop: what is captured from outside would be loaded anew for each row, since the stores could have changed it.

template <class Word, class Order>
void encode_piece(Order order, const std::byte* field, size_t stride, size_t count, uint32_t shift, bool first,
                  Word* words) {
  if (lies_in_a_half<Word>(shift, Order::num_bytes)) {
    if (first) std::memset(words, 0, count * sizeof(Word));
    const size_t half = shift / 64;
    const uint32_t by = shift % 64;
    for (size_t r = 0; r < count; ++r, field += stride)
      store_half(words + r, half, load_half(words + r, half) | order.load(field) << by);
    return;
  }
  for (size_t r = 0; r < count; ++r, field += stride) {
    const Word value = static_cast<Word>(order.load(field)) << shift;
    words[r] = first ? value : words[r] | value;
  }
}

template <class Word, class Order>
void decode_piece(Order order, const Word* words, size_t count, uint32_t shift, std::byte* field, size_t stride) {
  const uint64_t mask = low_mask(Order::num_bytes);
  if (lies_in_a_half<Word>(shift, Order::num_bytes)) {
    const size_t half = shift / 64;
    const uint32_t by = shift % 64;
    for (size_t r = 0; r < count; ++r, field += stride) {
      const uint64_t bits = order.restored(load_half(words + r, half) >> by & mask);
      std::memcpy(field, &bits, Order::num_bytes);
    }
    return;
  }
  for (size_t r = 0; r < count; ++r, field += stride) {
    const uint64_t bits = order.restored(static_cast<uint64_t>(words[r] >> shift) & mask);
    std::memcpy(field, &bits, Order::num_bytes);
  }
}

}  // namespace

template <class Word>
void row_codec::encode_rows(const std::byte* rows, size_t num_rows, Word* words) const {
  constexpr size_t chunk = 1024;  // stays in L1 while the pieces are put together
  for (size_t first = 0; first < num_rows; first += chunk) {
    const size_t count = std::min(chunk, num_rows - first);
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const std::byte* const field = rows + first * row_bytes_ + pieces_[i].piece.offset;
      with_order(pieces_[i].piece, [&](auto order) {
        encode_piece(order, field, row_bytes_, count, pieces_[i].shift, i == 0, words + first);
      });
    }
  }
}

template <class Word>
void row_codec::decode_rows(const Word* words, size_t num_rows, std::byte* rows) const {
  constexpr size_t chunk = 1024;
  for (size_t first = 0; first < num_rows; first += chunk) {
    const size_t count = std::min(chunk, num_rows - first);
    for (const placed_piece& p : pieces_) {
      std::byte* const field = rows + first * row_bytes_ + p.piece.offset;
      with_order(p.piece, [&](auto order) { decode_piece(order, words + first, count, p.shift, field, row_bytes_); });
    }
  }
}

void row_codec::encode(const std::byte* rows, size_t num_rows, uint64_t* words) const {
  if (identity_) return unpack(rows, num_rows, words);
  encode_rows(rows, num_rows, words);
}
void row_codec::encode(const std::byte* rows, size_t num_rows, word128* words) const {
  encode_rows(rows, num_rows, words);
}
void row_codec::decode(const uint64_t* words, size_t num_rows, std::byte* rows) const {
  if (identity_) return pack(words, num_rows, rows);
  decode_rows(words, num_rows, rows);
}
void row_codec::decode(const word128* words, size_t num_rows, std::byte* rows) const {
  decode_rows(words, num_rows, rows);
}

namespace {

// Calls `body` with the row width as a compile-time constant: u64 takes 1-8 bytes, u128 up to 16.
template <class Word, class Body>
void with_row_width(uint32_t row_bytes, Body body) {
  if constexpr (sizeof(Word) > 8) {
    switch (row_bytes) {
      case 9: return body(std::integral_constant<uint32_t, 9>{});
      case 10: return body(std::integral_constant<uint32_t, 10>{});
      case 11: return body(std::integral_constant<uint32_t, 11>{});
      case 12: return body(std::integral_constant<uint32_t, 12>{});
      case 13: return body(std::integral_constant<uint32_t, 13>{});
      case 14: return body(std::integral_constant<uint32_t, 14>{});
      case 15: return body(std::integral_constant<uint32_t, 15>{});
      case 16: return body(std::integral_constant<uint32_t, 16>{});
      default: break;
    }
  }
  with_width(row_bytes, body);
}

template <class Word>
void pack_words(const Word* words, size_t num_rows, uint32_t row_bytes, std::byte* packed) {
  with_row_width<Word>(row_bytes, [=](auto width) {
    for (size_t r = 0; r < num_rows; ++r) std::memcpy(packed + r * width.value, &words[r], width.value);
  });
}

template <class Word>
void unpack_words(const std::byte* packed, size_t num_rows, uint32_t row_bytes, Word* words) {
  with_row_width<Word>(row_bytes, [=](auto width) {
    for (size_t r = 0; r < num_rows; ++r) {
      Word word = 0;
      std::memcpy(&word, packed + r * width.value, width.value);
      words[r] = word;
    }
  });
}

}  // namespace

void row_codec::pack(const uint64_t* words, size_t num_rows, std::byte* packed) const {
  pack_words(words, num_rows, row_bytes_, packed);
}
void row_codec::pack(const word128* words, size_t num_rows, std::byte* packed) const {
  pack_words(words, num_rows, row_bytes_, packed);
}
void row_codec::unpack(const std::byte* packed, size_t num_rows, uint64_t* words) const {
  unpack_words(packed, num_rows, row_bytes_, words);
}
void row_codec::unpack(const std::byte* packed, size_t num_rows, word128* words) const {
  unpack_words(packed, num_rows, row_bytes_, words);
}

}  // namespace flowrun::record
