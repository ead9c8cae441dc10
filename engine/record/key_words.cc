#include "engine/record/key_words.h"

#include <algorithm>

namespace flowrun::record {

namespace {

// How many bytes from `from` on are equal, and from + that.
size_t common_end(const char* a, const char* b, size_t from, size_t num_bytes) {
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

uint64_t low_mask(uint32_t num_bytes) { return num_bytes >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * num_bytes)) - 1; }

}  // namespace

key_words::key_words(const row_type& type, const key& parts) {
  for (const key_part& p : parts) {
    const column& c = type[p.column];
    if (c.type.is_string()) {
      fields_.push_back({true, p.descending, c.offset, 0, 0});
      continue;
    }
    uint32_t offset = c.offset + p.from;
    uint32_t left = p.length > 0 ? p.length : c.type.num_bytes;
    if (!c.type.is_bytes()) {
      add_fixed({c.type.kind, p.descending, offset, left, 0});
      continue;
    }
    while (left > 0) {  // bytes fill words up
      const bool begins = fields_.empty() || fields_.back().is_text || bits_left_ == 0;
      const uint32_t num_bytes = std::min({left, 8U, begins ? 8U : bits_left_ / 8});
      add_fixed({c.type.kind, p.descending, offset, num_bytes, 0});
      offset += num_bytes;
      left -= num_bytes;
    }
  }
}

void key_words::add_fixed(const piece& p) {
  const uint32_t bits = 8 * p.num_bytes;
  if (fields_.empty() || fields_.back().is_text) {
    fields_.push_back({false, false, 0, static_cast<uint32_t>(words_.size()), 0});
    bits_left_ = 0;
  }
  if (bits_left_ < bits) {
    words_.push_back({static_cast<uint32_t>(pieces_.size()), 0});
    ++fields_.back().num_words;
    bits_left_ = word_bits;
  }
  bits_left_ -= bits;
  pieces_.push_back(p);
  pieces_.back().shift = bits_left_;
  ++words_.back().num_pieces;
}

word128 key_words::fixed_word(const std::byte* row, const word& w) const {
  word128 out = 0;
  for (uint32_t i = w.first_piece; i < w.first_piece + w.num_pieces; ++i) {
    const piece& p = pieces_[i];
    uint64_t value = load_front(reinterpret_cast<const char*>(row) + p.offset, p.num_bytes);
    value = p.kind == type_kind::bytes ? __builtin_bswap64(value) >> (64 - 8 * p.num_bytes)
                                       : order_bits(p.kind, p.num_bytes, value);
    if (p.descending) value = ~value & low_mask(p.num_bytes);
    out |= static_cast<word128>(value) << p.shift;
  }
  return out;
}

word128 key_words::text_word(std::string_view text, uint32_t number, bool descending) {
  const size_t from = size_t{number} * text_bytes;
  const auto left = static_cast<uint32_t>(std::min<size_t>(text.size() - from, text_bytes + 1));
  const uint32_t here = std::min(left, text_bytes);
  const uint64_t high = load_front(text.data() + from, std::min(here, 8U));
  const uint64_t low = here > 8 ? load_front(text.data() + from + 8, here - 8) : 0;
  const word128 out = static_cast<word128>(__builtin_bswap64(high)) << 32 | __builtin_bswap64(low) >> 32 | left;
  return descending ? ~out & ((static_cast<word128>(1) << word_bits) - 1) : out;
}

word128 key_words::operator()(const row_place& row, const position& p) const {
  const field& f = fields_[p.field];
  return f.is_text ? text_word(load_string(row.row + f.offset, row.heap), p.word, f.descending)
                   : fixed_word(row.row, words_[f.first_word + p.word]);
}

key_words::position key_words::difference(const row_place& a, const row_place& b, const position& from) const {
  position p = from;
  for (; p.field < fields_.size(); ++p.field, p.word = 0) {
    const field& f = fields_[p.field];
    if (f.is_text) {
      const std::string_view left = load_string(a.row + f.offset, a.heap);
      const std::string_view right = load_string(b.row + f.offset, b.heap);
      const size_t shorter = std::min(left.size(), right.size());
      size_t same = common_end(left.data(), right.data(), size_t{p.word} * text_bytes, shorter);
      const bool equal = left.size() == right.size() && same == shorter;
      // Where one ends, its last word, which says so, is the one that differs.
      if (!equal && same == shorter && same > 0) --same;
      const uint32_t until = equal ? words_of(left) : static_cast<uint32_t>(same / text_bytes);
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

int key_words::compare(const row_place& a, const row_place& b, const position& from) const {
  const position p = difference(a, b, from);
  if (is_end(p)) return 0;
  return (*this)(a, p) < (*this)(b, p) ? -1 : 1;
}

key_words::position key_words::next(const row_place& row, const position& p) const {
  const field& f = fields_[p.field];
  const uint32_t num_words = f.is_text ? words_of(load_string(row.row + f.offset, row.heap)) : f.num_words;
  if (p.word + 1 < num_words) return {p.number + 1, p.field, p.word + 1};
  return {p.number + 1, p.field + 1, 0};
}

key_words::position key_words::at(const row_place& row, uint32_t number) const {
  uint32_t left = number;
  for (uint32_t i = 0;; ++i) {
    const field& f = fields_[i];
    if (i + 1 == fields_.size()) return {number, i, left};
    const uint32_t num_words = f.is_text ? words_of(load_string(row.row + f.offset, row.heap)) : f.num_words;
    if (left < num_words) return {number, i, left};
    left -= num_words;
  }
}

void key_words::prefetch(const row_place& row, const position& p) const {
  if (is_end(p) || !fields_[p.field].is_text) return;
  const string_ref ref = load_ref(row.row + fields_[p.field].offset);
  const size_t from = std::min<size_t>(size_t{p.word} * text_bytes, ref.length);
  __builtin_prefetch(row.heap + ref.offset + from);
}

}  // namespace flowrun::record
