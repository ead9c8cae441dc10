// The last rows of a stream, packed one after another, by their number in the stream.
//
// Rows are appended batch by batch and dropped from the front. Dropping only moves a mark; the rows that remain, and
// their strings, move to the front once more than half of the bytes are behind the mark, so each byte moves a constant
// number of times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/growing_bytes.h"
#include "engine/record/batch.h"

namespace flowrun::operators {

class row_history {
 public:
  explicit row_history(const record::row_type& type);

  void append(const record::batch& rows);
  // Rows before `row` are not needed any more.
  void drop_before(uint64_t row);

  uint64_t begin() const { return first_; }
  uint64_t end() const { return first_ + num_rows_; }
  // begin() <= number < end(). Valid until the next append or drop.
  const std::byte* row(uint64_t number) const { return rows_.data() + (number - stored_from_) * row_bytes_; }
  const std::byte* heap() const { return heap_.data(); }
  // Of the rows still needed, with their strings. What is stored is at most twice that after a drop_before().
  uint64_t num_bytes() const { return rows_.size() + heap_.size() - dropped_bytes(); }

 private:
  void store_string(std::byte* field, std::string_view text);
  size_t dropped_heap_bytes() const;
  size_t dropped_bytes() const { return (first_ - stored_from_) * row_bytes_ + dropped_heap_bytes(); }

  uint32_t row_bytes_;
  std::vector<uint32_t> string_offsets_;
  growing_bytes rows_;
  growing_bytes heap_;
  uint64_t stored_from_ = 0;  // number of the row at rows_[0]
  uint64_t first_ = 0;        // number of the first row still needed
  uint64_t num_rows_ = 0;     // needed
};

}  // namespace flowrun::operators
