// The right rows of one key of a join, kept for the left rows of that key.
//
// Rows of the current right batch are a slice of it; once the group goes on in the next batch they are copied into
// batches of their own, because a slice of a few rows would keep a whole buffer alive. So small groups are never
// copied, and large ones take the memory that they fill.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/record/batch.h"

namespace flowrun::operators {

class join_group {
 public:
  join_group(const record::row_type& type, record::batch_pool& pool, size_t batch_bytes, uint64_t memory_bytes)
      : builder_(type, pool, record::rows_of_any_length(batch_bytes)), memory_bytes_(memory_bytes) {
    for (const record::column& c : type.columns())
      if (c.type.is_string()) string_offsets_.push_back(c.offset);
  }

  // A new group begins with row `first` of `rows`.
  void start(const record::batch& rows, size_t first) {
    parts_.clear();
    current_ = {};
    too_large_ = false;
    num_bytes_ = num_rows_ = 0;
    builder_.take();
    first_row_ = rows.slice(first, 1);
  }

  // The next `count` rows of the group, from row `first` of the current right batch.
  void keep(const record::batch& rows, size_t first, size_t count) {
    if (count == 0 || too_large_) return;
    if (current_.num_rows > 0 && current_.owner == rows.owner && current_.row(current_.num_rows) == rows.row(first)) {
      current_.num_rows += count;
    } else {
      copy_current();
      current_ = rows.slice(first, count);
    }
    num_bytes_ += bytes_of(rows, first, count);
    num_rows_ += count;
    // A single row, however long, is in memory anyway.
    if (num_bytes_ <= memory_bytes_ || num_rows_ == 1) return;
    too_large_ = true;
    parts_.clear();
    builder_.take();
    current_ = {};
  }

  // The group is complete: parts() has all of it, unless it is too large.
  void finish() {
    add_part(builder_.take());
    add_part(std::move(current_));
    current_ = {};
  }

  const std::vector<record::batch>& parts() const { return parts_; }
  const record::batch& first_row() const { return first_row_; }
  bool too_large() const { return too_large_; }
  uint64_t memory_bytes() const { return memory_bytes_; }

 private:
  uint64_t bytes_of(const record::batch& rows, size_t first, size_t count) const {
    uint64_t total = uint64_t{count} * rows.row_bytes;
    for (uint32_t offset : string_offsets_)
      for (size_t i = first; i < first + count; ++i) total += record::load_ref(rows.row(i) + offset).length;
    return total;
  }
  void copy_current() {
    for (size_t i = 0; i < current_.num_rows; ++i) {
      builder_.append_row(current_.row(i), current_.heap);
      if (builder_.full()) add_part(builder_.take());
    }
  }
  void add_part(record::batch part) {
    if (part.num_rows > 0) parts_.push_back(std::move(part));
  }

  record::batch_builder builder_;
  uint64_t memory_bytes_;
  std::vector<uint32_t> string_offsets_;
  std::vector<record::batch> parts_;
  record::batch current_;  // slice of the right batch that is being read
  record::batch first_row_;
  uint64_t num_bytes_ = 0;  // of the rows kept, with their strings
  uint64_t num_rows_ = 0;
  bool too_large_ = false;
};

}  // namespace flowrun::operators
