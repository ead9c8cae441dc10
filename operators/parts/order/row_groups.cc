#include "operators/parts/order/row_groups.h"

#include <cstring>

namespace flowrun::operators {

namespace {

// Branch-free: a new group's start is written at every row and kept where the value changed.
template <class Word>
void find_by_word(const std::byte* column, size_t stride, size_t num_rows, std::vector<uint32_t>& starts) {
  const size_t before = starts.size();
  starts.resize(before + num_rows);
  uint32_t* to = starts.data() + before;
  size_t count = 0;
  Word previous;
  std::memcpy(&previous, column, sizeof previous);
  for (size_t i = 1; i < num_rows; ++i) {
    Word current;
    std::memcpy(&current, column + i * stride, sizeof current);
    to[count] = static_cast<uint32_t>(i);
    count += current != previous;
    previous = current;
  }
  starts.resize(before + count);
}

struct two_words {
  uint64_t first, second;
  bool operator!=(const two_words& o) const { return ((first ^ o.first) | (second ^ o.second)) != 0; }
};

}  // namespace

row_groups::row_groups(const record::row_type& type, const std::vector<size_t>& columns) {
  for (size_t c : columns) {
    const record::column& column = type[c];
    if (column.type.is_string())
      string_offsets_.push_back(column.offset);
    else if (!spans_.empty() && spans_.back().offset + spans_.back().num_bytes == column.offset)
      spans_.back().num_bytes += column.type.num_bytes;
    else
      spans_.push_back({column.offset, column.type.num_bytes});
  }
}

bool row_groups::equal(const std::byte* a, const std::byte* a_heap, const std::byte* b, const std::byte* b_heap) const {
  for (const span& s : spans_)
    if (std::memcmp(a + s.offset, b + s.offset, s.num_bytes) != 0) return false;
  for (uint32_t offset : string_offsets_)
    if (record::load_string(a + offset, a_heap) != record::load_string(b + offset, b_heap)) return false;
  return true;
}

void row_groups::find(const record::batch& rows, std::vector<uint32_t>& starts) const {
  if (rows.num_rows < 2 || (spans_.empty() && string_offsets_.empty())) return;
  if (spans_.size() == 1 && string_offsets_.empty()) {
    const std::byte* column = rows.rows + spans_[0].offset;
    switch (spans_[0].num_bytes) {
      case 1: return find_by_word<uint8_t>(column, rows.row_bytes, rows.num_rows, starts);
      case 2: return find_by_word<uint16_t>(column, rows.row_bytes, rows.num_rows, starts);
      case 4: return find_by_word<uint32_t>(column, rows.row_bytes, rows.num_rows, starts);
      case 8: return find_by_word<uint64_t>(column, rows.row_bytes, rows.num_rows, starts);
      case 16: return find_by_word<two_words>(column, rows.row_bytes, rows.num_rows, starts);
      default: break;
    }
  }
  for (size_t i = 1; i < rows.num_rows; ++i)
    if (!equal(rows.row(i - 1), rows.heap, rows.row(i), rows.heap)) starts.push_back(static_cast<uint32_t>(i));
}

const std::vector<uint32_t>& group_tracker::add(const record::batch& rows) {
  starts_.clear();
  starts_.push_back(0);
  if (open() && !groups_.equal(last_.row(0), last_.heap, rows.row(0), rows.heap)) starts_.push_back(0);
  groups_.find(rows, starts_);
  starts_.push_back(static_cast<uint32_t>(rows.num_rows));
  last_ = rows.slice(rows.num_rows - 1, 1);
  return starts_;
}

}  // namespace flowrun::operators
