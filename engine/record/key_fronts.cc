#include "engine/record/key_fronts.h"

#include <algorithm>

namespace flowrun::record {

namespace {

// word = word * 256^num_bytes + value(row)
template <class Value>
void append(const batch& rows, uint32_t num_bytes, std::vector<uint64_t>& words, Value value) {
  const std::byte* row = rows.rows;
  if (num_bytes == 8) {
    for (size_t i = 0; i < rows.num_rows; ++i, row += rows.row_bytes) words[i] = value(row);
  } else {
    const uint32_t shift = 8 * num_bytes;
    for (size_t i = 0; i < rows.num_rows; ++i, row += rows.row_bytes) words[i] = words[i] << shift | value(row);
  }
}

// The first `num_bytes` bytes of a text, most significant first, padded with zeros.
uint64_t text_word(std::string_view text, uint32_t num_bytes) {
  uint64_t word = 0;
  if (!text.empty()) std::memcpy(&word, text.data(), std::min<size_t>(text.size(), num_bytes));
  return __builtin_bswap64(word) >> (8 * (8 - num_bytes));
}

}  // namespace

key_fronts::key_fronts(const row_type& type, const key& parts) {
  uint32_t room = 8;
  for (const key_part& p : parts) {
    const column& c = type[p.column];
    const bool text = c.type.is_string();
    const uint32_t num_bytes = text ? room : p.length > 0 ? p.length : c.type.num_bytes;
    const uint32_t taken = std::min(num_bytes, room);
    // A number that doesn't fit whole is left out; of a text the beginning will do.
    if (room == 0 || (num_bytes > room && !c.type.is_bytes())) {
      exact_ = false;
      return;
    }
    const type_kind kind = text ? type_kind::bytes : c.type.kind;
    parts_.push_back({text, piece_of(kind, p.descending, c.offset + p.from, taken)});
    room -= taken;
    if (text || num_bytes > taken) {
      exact_ = false;
      return;
    }
  }
}

void key_fronts::compute(const batch& rows, std::vector<uint64_t>& words) const {
  words.assign(rows.num_rows, 0);
  for (const part& p : parts_) {
    const uint32_t offset = p.piece.offset;
    if (p.is_text) {
      append(rows, p.piece.num_bytes, words,
             [offset, heap = rows.heap, num_bytes = p.piece.num_bytes, flip = p.piece.flip](const std::byte* row) {
               return text_word(load_string(row + offset, heap), num_bytes) ^ flip;
             });
    } else {
      with_order(p.piece, [&](auto order) {
        append(rows, order.num_bytes, words,
               [order, offset](const std::byte* row) { return order.load(row + offset); });
      });
    }
  }
}

}  // namespace flowrun::record
