#include "engine/record/key.h"

#include <algorithm>

#include "engine/base/error.h"

namespace flowrun::record {

namespace {

uint32_t part_offset(const row_type& type, const key_part& p) { return type[p.column].offset + p.from; }
uint32_t part_bytes(const row_type& type, const key_part& p) {
  return p.length > 0 ? p.length : type[p.column].type.num_bytes;
}

int compare_text(std::string_view a, std::string_view b) {
  const size_t shorter = std::min(a.size(), b.size());
  const int order = shorter == 0 ? 0 : std::memcmp(a.data(), b.data(), shorter);
  if (order != 0) return order;
  return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
}

// The place of the first zero byte of eight, from the least significant; 8 when there is none.
inline uint32_t first_zero(uint64_t bytes) {
  const uint64_t zeros = (bytes - 0x0101010101010101) & ~bytes & 0x8080808080808080;
  return zeros == 0 ? 8 : static_cast<uint32_t>(__builtin_ctzll(zeros)) / 8;
}

// Collects the first 16 bytes of a normalised key.
class prefix_bytes {
 public:
  bool full() const { return num_bytes_ == 16; }
  void put(uint8_t byte) {
    if (!full()) bytes_ |= static_cast<word128>(byte) << (8 * (15 - num_bytes_++));
  }
  // The low `num_bytes` <= 8 bytes of `value`, most significant first.
  void put_number(uint64_t value, uint32_t num_bytes) {
    const uint32_t room = 16 - num_bytes_;
    if (num_bytes > room) {
      value >>= 8 * (num_bytes - room);
      num_bytes = room;
    }
    if (num_bytes == 0) return;
    bytes_ |= static_cast<word128>(value) << (8 * (16 - num_bytes_ - num_bytes));
    num_bytes_ += num_bytes;
  }
  // The front of a text of `num_bytes` bytes: 16 at most, and none from the first zero byte on. Returns how many those
  // are, though they may not all have found room.
  uint32_t put_text(const char* text, size_t num_bytes, uint8_t flip) {
    const auto seen = static_cast<uint32_t>(std::min<size_t>(num_bytes, 16));
    const uint64_t high = load_front(text, std::min(seen, 8U));
    const uint64_t low = seen > 8 ? load_front(text + 8, seen - 8) : 0;
    uint32_t count = first_zero(high);
    if (count == 8) count += first_zero(low);
    count = std::min(count, seen);
    if (count == 0 || full()) return count;
    word128 bytes = static_cast<word128>(__builtin_bswap64(high)) << 64 | __builtin_bswap64(low);
    if (flip != 0) bytes = ~bytes;
    const uint32_t beyond = 8 * (16 - count);
    bytes_ |= (bytes >> beyond << beyond) >> (8 * num_bytes_);
    num_bytes_ = std::min(num_bytes_ + count, 16U);
    return count;
  }
  word128 value() const { return bytes_; }

 private:
  word128 bytes_ = 0;
  uint32_t num_bytes_ = 0;
};

}  // namespace

row_comparator::row_comparator(const row_type& left, const key& left_parts, const row_type& right,
                               const key& right_parts) {
  FLOWRUN_CHECK(left_parts.size() == right_parts.size());
  for (size_t i = 0; i < left_parts.size(); ++i) {
    const key_part& l = left_parts[i];
    const key_part& r = right_parts[i];
    const value_type left_type = left[l.column].type;
    const value_type right_type = right[r.column].type;
    FLOWRUN_CHECK(left_type.kind == right_type.kind && l.descending == r.descending);
    FLOWRUN_CHECK(part_bytes(left, l) == part_bytes(right, r));
    parts_.push_back({left_type.kind, l.descending, part_bytes(left, l), part_offset(left, l), part_offset(right, r)});
  }
}

namespace {

// A number as order_bits, without calls for the usual kinds.
inline uint64_t number_at(const std::byte* at, type_kind kind, uint32_t num_bytes) {
  const uint64_t bits = load_unsigned(at, num_bytes);
  return kind < type_kind::i8 ? bits : order_bits(kind, num_bytes, bits);
}

}  // namespace

int row_comparator::compare(const std::byte* a, const std::byte* a_heap, const std::byte* b,
                            const std::byte* b_heap) const {
  for (const part& p : parts_) {
    const std::byte* left = a + p.left_offset;
    const std::byte* right = b + p.right_offset;
    int order = 0;
    if (p.kind == type_kind::string) {
      order = compare_text(load_string(left, a_heap), load_string(right, b_heap));
    } else if (p.kind == type_kind::bytes) {
      order = std::memcmp(left, right, p.num_bytes);
    } else {
      const uint64_t l = number_at(left, p.kind, p.num_bytes);
      const uint64_t r = number_at(right, p.kind, p.num_bytes);
      order = l < r ? -1 : l > r ? 1 : 0;
    }
    if (order != 0) return p.descending ? -order : order;
  }
  return 0;
}

key_prefix::key_prefix(const row_type& type, const key& parts) {
  for (const key_part& p : parts) {
    const value_type column_type = type[p.column].type;
    const uint32_t offset = part_offset(type, p), num_bytes = part_bytes(type, p);
    num_bytes_ += num_bytes;
    if (column_type.is_string()) {
      fixed_ = false;
      parts_.push_back({true, {key_piece::transform::big_endian, offset, 0, p.descending ? 0xFFu : 0u}});
      continue;
    }
    for (uint32_t i = 0; i < num_bytes; i += 8)  // only bytes[N] are longer than one piece
      parts_.push_back({false, piece_of(column_type.kind, p.descending, offset + i, std::min(num_bytes - i, 8U))});
  }
  if (!fixed_) return;
  for (const part& p : parts_) place(p.piece);
}

void key_prefix::place(const key_piece& piece) {
  if (bits_left_ == 0) return;
  const uint32_t bits = 8 * piece.num_bytes;
  const uint32_t beyond = bits > bits_left_ ? bits - bits_left_ : 0;
  bits_left_ -= bits - beyond;
  pieces_.push_back({piece, beyond, bits_left_});
}

void key_prefix::operator()(const std::byte* rows, size_t num_rows, uint32_t row_bytes, const std::byte* heap,
                            word128* out) const {
  if (!fixed_) {
    for (size_t i = 0; i < num_rows; ++i) out[i] = text_prefix(rows + i * row_bytes, heap);
    return;
  }
  // A few rows at a time, which stay in the cache while the pieces of their keys are put together.
  constexpr size_t at_once = 256;
  for (size_t from = 0; from < num_rows; from += at_once) {
    const size_t count = std::min(at_once, num_rows - from);
    const std::byte* const first = rows + from * row_bytes;
    word128* const to = out + from;
    std::fill_n(to, count, 0);
    for (const placed_piece& p : pieces_)
      with_order(p.piece, [&](auto order) {
        const std::byte* at = first + p.piece.offset;
        for (size_t i = 0; i < count; ++i, at += row_bytes)
          to[i] |= static_cast<word128>(order.load(at) >> p.beyond) << p.shift;
      });
  }
}

word128 key_prefix::text_prefix(const std::byte* row, const std::byte* heap) const {
  prefix_bytes out;
  for (const part& p : parts_) {
    if (out.full()) break;
    if (!p.is_text) {
      out.put_number(p.piece.load(row), p.piece.num_bytes);
      continue;
    }
    const auto flip = static_cast<uint8_t>(p.piece.flip);
    const std::string_view text = load_string(row + p.piece.offset, heap);
    // A stretch without zero bytes at a time; almost always that is all there is.
    for (size_t from = 0; from < text.size() && !out.full();) {
      from += out.put_text(text.data() + from, text.size() - from, flip);
      if (from == text.size() || text[from] != '\0') continue;
      out.put(flip);
      out.put(0xFF ^ flip);
      ++from;
    }
    out.put(flip);
    out.put(flip);
  }
  return out.value();
}

}  // namespace flowrun::record
