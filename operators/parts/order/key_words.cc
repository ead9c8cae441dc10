#include "operators/parts/order/key_words.h"

#include <algorithm>

#include "engine/base/error.h"

namespace flowrun::operators {

namespace {

using record::type_kind;

uint64_t low_mask(uint32_t num_bytes) { return num_bytes >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * num_bytes)) - 1; }

// word = word * 256^NumBytes + value(row)
template <class Value>
void append(const record::batch& rows, uint32_t num_bytes, bool descending, std::vector<uint64_t>& words, Value value) {
  const uint64_t flip = descending ? low_mask(num_bytes) : 0;
  const std::byte* row = rows.rows;
  if (num_bytes == 8) {
    for (size_t i = 0; i < rows.num_rows; ++i, row += rows.row_bytes) words[i] = value(row) ^ flip;
  } else {
    const uint32_t shift = 8 * num_bytes;
    for (size_t i = 0; i < rows.num_rows; ++i, row += rows.row_bytes)
      words[i] = words[i] << shift | (value(row) ^ flip);
  }
}

template <uint32_t NumBytes>
void append_number(const record::batch& rows, type_kind kind, uint32_t offset, bool descending,
                   std::vector<uint64_t>& words) {
  constexpr uint64_t sign = uint64_t{1} << (8 * NumBytes - 1);
  const auto load = [offset](const std::byte* row) {
    uint64_t bits = 0;
    std::memcpy(&bits, row + offset, NumBytes);
    return bits;
  };
  if (kind >= type_kind::i8 && kind <= type_kind::i64)
    append(rows, NumBytes, descending, words, [&](const std::byte* row) { return load(row) ^ sign; });
  else if (kind == type_kind::f32 || kind == type_kind::f64)
    append(rows, NumBytes, descending, words,
           [&](const std::byte* row) { return record::order_bits(kind, NumBytes, load(row)); });
  else
    append(rows, NumBytes, descending, words, load);
}

// The first `num_bytes` bytes of a text, most significant first, padded with zeros.
uint64_t text_word(const char* text, size_t length, uint32_t num_bytes) {
  uint64_t word = 0;
  if (length > 0) std::memcpy(&word, text, std::min<size_t>(length, num_bytes));
  return __builtin_bswap64(word) >> (8 * (8 - num_bytes));
}

}  // namespace

record::key key_of(const record::row_type& type, const plan::order& sorted_by) {
  record::key out;
  for (const plan::order_term& t : sorted_by) {
    const auto column = type.index_of(t.column);
    FLOWRUN_CHECK(column.has_value());
    out.push_back({*column, t.descending, t.from, t.length});
  }
  return out;
}

key_words::key_words(const record::row_type& type, const record::key& parts) {
  uint32_t room = 8;
  for (const record::key_part& p : parts) {
    const record::column& c = type[p.column];
    const uint32_t num_bytes = c.type.is_string() ? room : p.length > 0 ? p.length : c.type.num_bytes;
    // A number that doesn't fit whole is left out; of a text the beginning will do.
    if (room == 0 || (num_bytes > room && !c.type.is_bytes())) {
      exact_ = false;
      return;
    }
    parts_.push_back({c.type.kind, p.descending, std::min(num_bytes, room), c.offset + p.from});
    room -= parts_.back().num_bytes;
    if (c.type.is_string() || num_bytes > parts_.back().num_bytes) {
      exact_ = false;
      return;
    }
  }
}

void key_words::compute(const record::batch& rows, std::vector<uint64_t>& words) const {
  words.assign(rows.num_rows, 0);
  for (const part& p : parts_) {
    if (p.kind == type_kind::string) {
      append(rows, p.num_bytes, p.descending, words, [&](const std::byte* row) {
        const std::string_view text = record::load_string(row + p.offset, rows.heap);
        return text_word(text.data(), text.size(), p.num_bytes);
      });
    } else if (p.kind == type_kind::bytes) {
      append(rows, p.num_bytes, p.descending, words, [&](const std::byte* row) {
        return text_word(reinterpret_cast<const char*>(row + p.offset), p.num_bytes, p.num_bytes);
      });
    } else {
      switch (p.num_bytes) {
        case 1: append_number<1>(rows, p.kind, p.offset, p.descending, words); break;
        case 2: append_number<2>(rows, p.kind, p.offset, p.descending, words); break;
        case 3: append_number<3>(rows, p.kind, p.offset, p.descending, words); break;
        case 4: append_number<4>(rows, p.kind, p.offset, p.descending, words); break;
        case 5: append_number<5>(rows, p.kind, p.offset, p.descending, words); break;
        case 6: append_number<6>(rows, p.kind, p.offset, p.descending, words); break;
        default: append_number<8>(rows, p.kind, p.offset, p.descending, words); break;
      }
    }
  }
}

}  // namespace flowrun::operators
