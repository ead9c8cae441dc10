// The batch that a parser of text makes. Its buffers are as large as the rest of the text can make it, so that storing
// needs no checks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/record/batch.h"
#include "engine/record/row_type.h"

namespace flowrun::operators {

class row_filler {
 public:
  // `least_record_bytes`: of each record, but for the last, which may have one less. `texts`: what each batch's heap
  // begins with. `slack_bytes`: beyond the end of a text in the heap, which put_string's user may overwrite.
  row_filler(const record::row_type& type, size_t least_record_bytes, const std::string& texts,
             record::batch_pool& pool, size_t batch_bytes, std::vector<record::batch>& out, size_t slack_bytes = 0)
      : type_(type),
        least_record_bytes_(std::max<size_t>(least_record_bytes, 1)),
        texts_(texts),
        slack_bytes_(slack_bytes),
        pool_(pool),
        shape_(record::shape_for(type, batch_bytes)),
        out_(out) {}

  // A row to fill; `text_left` are the bytes of text from its record on.
  std::byte* begin_row(size_t text_left) {
    if (num_rows_ == capacity_ || heap_used_ >= shape_.target_heap_bytes + texts_.size()) {
      flush();
      capacity_ = std::min(shape_.max_rows, text_left / least_record_bytes_ + 1);
      rows_ = pool_.take(capacity_ * std::max<size_t>(type_.row_bytes(), 1));
      if (type_.has_strings()) {
        heap_ = pool_.take(std::max<size_t>(text_left + texts_.size() + slack_bytes_, 1));
        if (!texts_.empty()) std::memcpy(heap_.get(), texts_.data(), texts_.size());
        heap_used_ = texts_.size();
      }
    }
    row_start_heap_ = heap_used_;
    return rows_.get() + num_rows_ * type_.row_bytes();
  }
  void end_row() { ++num_rows_; }
  void drop_row() { heap_used_ = row_start_heap_; }
  // Of the batches that are finished.
  uint64_t num_bytes() const { return num_bytes_; }

  // `text` is no longer than the part of the text that begin_row was told of, all strings together.
  void put_string(std::byte* field, std::string_view text) {
    std::byte* const to = next_text();
    end_text(field, text.size());
    if (!text.empty()) std::memcpy(to, text.data(), text.size());
  }
  // The same in two steps: where the text goes, and how long it has become.
  std::byte* next_text() { return heap_.get() + heap_used_; }
  void end_text(std::byte* field, size_t num_bytes) {
    const record::string_ref ref{static_cast<uint32_t>(heap_used_), static_cast<uint32_t>(num_bytes)};
    std::memcpy(field, &ref, sizeof ref);
    heap_used_ += num_bytes;
  }

  void flush() {
    if (num_rows_ > 0) {
      record::batch b;
      b.rows = rows_.get();
      b.num_rows = num_rows_;
      b.row_bytes = type_.row_bytes();
      b.heap = heap_.get();
      b.heap_bytes = heap_used_;
      num_bytes_ += b.num_bytes();
      if (heap_) {
        b.owner = std::make_shared<std::pair<buffer, buffer>>(std::move(rows_), std::move(heap_));
      } else {
        b.owner = std::move(rows_);
      }
      out_.push_back(std::move(b));
    }
    rows_.reset();
    heap_.reset();
    num_rows_ = capacity_ = heap_used_ = 0;
  }

 private:
  using buffer = std::shared_ptr<std::byte[]>;
  const record::row_type& type_;
  const size_t least_record_bytes_;
  const std::string& texts_;
  const size_t slack_bytes_;
  record::batch_pool& pool_;
  record::batch_shape shape_;
  std::vector<record::batch>& out_;
  buffer rows_;
  buffer heap_;
  size_t num_rows_ = 0;
  size_t capacity_ = 0;
  size_t heap_used_ = 0;
  size_t row_start_heap_ = 0;
  uint64_t num_bytes_ = 0;
};

}  // namespace flowrun::operators
