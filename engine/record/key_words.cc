#include "engine/record/key_words.h"

#include <algorithm>

namespace flowrun::record {

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
      add_fixed(c.type.kind, p.descending, offset, left);
      continue;
    }
    while (left > 0) {  // bytes fill words up
      const bool begins = fields_.empty() || fields_.back().is_text || bits_left_ == 0;
      const uint32_t num_bytes = std::min({left, 8U, begins ? 8U : bits_left_ / 8});
      add_fixed(c.type.kind, p.descending, offset, num_bytes);
      offset += num_bytes;
      left -= num_bytes;
    }
  }
}

void key_words::add_fixed(type_kind kind, bool descending, uint32_t offset, uint32_t num_bytes) {
  const uint32_t bits = 8 * num_bytes;
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
  pieces_.push_back({piece_of(kind, descending, offset, num_bytes), bits_left_});
  ++words_.back().num_pieces;
}

int key_words::compare(const row_place& a, const row_place& b, const position& from) const {
  const position p = difference(a, b, from);
  if (is_end(p)) return 0;
  return (*this)(a, p) < (*this)(b, p) ? -1 : 1;
}

key_words::position key_words::next(const row_place& row, const position& p) const {
  const field& f = fields_[p.field];
  const size_t num_words = f.is_text ? words_of(load_string(row.row + f.offset, row.heap)) : f.num_words;
  if (p.word + 1 < num_words) return {p.number + 1, p.field, p.word + 1};
  return {p.number + 1, p.field + 1, 0};
}

key_words::position key_words::at(const row_place& row, size_t number) const {
  size_t left = number;
  for (size_t i = 0;; ++i) {
    const field& f = fields_[i];
    if (i + 1 == fields_.size()) return {number, i, left};
    const size_t num_words = f.is_text ? words_of(load_string(row.row + f.offset, row.heap)) : f.num_words;
    if (left < num_words) return {number, i, left};
    left -= num_words;
  }
}

void key_words::prefetch(const row_place& row, const position& p) const {
  if (is_end(p) || !fields_[p.field].is_text) return;
  const string_ref ref = load_ref(row.row + fields_[p.field].offset);
  const size_t from = std::min<size_t>(p.word * text_bytes, ref.length);
  __builtin_prefetch(row.heap + ref.offset + from);
}

}  // namespace flowrun::record
