// A piece of memory that is being filled with rows: rows from the front, their strings from the back, string_refs
// relative to its first byte. The form of a scratch block's payload (runs/sorted_runs.h), in memory or on its way to a
// disk.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "engine/kernels/wide_rows.h"
#include "engine/record/batch.h"

namespace flowrun::container {

class row_page {
 public:
  explicit row_page(const kernels::wide_rows& rows) : rows_(&rows) {}

  bool is_open() const { return base_ != nullptr; }
  void open(std::byte* base, size_t capacity) {
    base_ = base;
    front_bytes_ = 0;
    heap_end_ = capacity_ = capacity;
    num_rows_ = 0;
  }
  void close() { base_ = nullptr; }

  const std::byte* first_row() const { return base_; }
  uint32_t num_rows() const { return num_rows_; }
  size_t capacity() const { return capacity_; }
  uint32_t rows_bytes() const { return static_cast<uint32_t>(front_bytes_); }
  uint32_t heap_bytes() const { return static_cast<uint32_t>(capacity_ - heap_end_); }

  // Takes as many rows off the front of `b` as there is room for; how many those were.
  size_t append(record::batch& b) {
    const size_t taken = rows_->has_strings() ? append_with_strings(b) : append_plain(b);
    b.rows += taken * b.row_bytes;
    b.num_rows -= taken;
    b.first_row += taken;
    return taken;
  }
  // One row; false when there is no room for it.
  bool append_row(const std::byte* row, const std::byte* heap) {
    const uint32_t row_bytes = rows_->row_bytes();
    std::byte* to = base_ + front_bytes_;
    if (rows_->has_strings()) {
      if (front_bytes_ + row_bytes + rows_->heap_bytes(row) > heap_end_) return false;
      heap_end_ = rows_->place(row, heap, base_, to, heap_end_);
    } else {
      if (front_bytes_ + row_bytes > heap_end_) return false;
      copy_row(to, row, row_bytes);
    }
    front_bytes_ += row_bytes;
    ++num_rows_;
    return true;
  }

  // The rows so far. `owner` keeps the memory alive.
  record::batch rows(std::shared_ptr<const void> owner) const {
    record::batch out;
    out.rows = base_;
    out.num_rows = num_rows_;
    out.row_bytes = rows_->row_bytes();
    if (rows_->has_strings()) {
      out.heap = base_;
      out.heap_bytes = capacity_;
    }
    out.owner = std::move(owner);
    return out;
  }

 private:
  // Rows of the usual widths are copied without a call.
  static void copy_row(std::byte* to, const std::byte* from, uint32_t row_bytes) {
    switch (row_bytes) {
      case 4: std::memcpy(to, from, 4); return;
      case 8: std::memcpy(to, from, 8); return;
      case 12: std::memcpy(to, from, 12); return;
      case 16: std::memcpy(to, from, 16); return;
      default: std::memcpy(to, from, row_bytes);
    }
  }
  size_t append_plain(const record::batch& b) {
    const size_t room = (heap_end_ - front_bytes_) / std::max<size_t>(1, b.row_bytes);
    const size_t count = std::min(b.num_rows, room);
    if (count == 0) return 0;
    std::memcpy(base_ + front_bytes_, b.rows, count * b.row_bytes);
    front_bytes_ += count * b.row_bytes;
    num_rows_ += static_cast<uint32_t>(count);
    return count;
  }
  size_t append_with_strings(const record::batch& b) {
    size_t count = 0;
    while (count < b.num_rows && append_row(b.row(count), b.heap)) ++count;
    return count;
  }

  const kernels::wide_rows* rows_;
  std::byte* base_ = nullptr;
  size_t capacity_ = 0;
  size_t front_bytes_ = 0;
  size_t heap_end_ = 0;
  uint32_t num_rows_ = 0;
};

// What the rows of a batch take in pages.
inline uint64_t stored_bytes(const kernels::wide_rows& rows, const record::batch& b) {
  uint64_t num_bytes = uint64_t{b.num_rows} * b.row_bytes;
  if (rows.has_strings())
    for (size_t i = 0; i < b.num_rows; ++i) num_bytes += rows.heap_bytes(b.row(i));
  return num_bytes;
}

}  // namespace flowrun::container
