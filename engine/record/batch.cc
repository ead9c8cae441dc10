#include "engine/record/batch.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/record/row_too_large.h"

namespace flowrun::record {

batch_shape shape_for(const row_type& type, size_t target_bytes) {
  const size_t row_bytes = std::max<size_t>(type.row_bytes(), 1);
  const size_t rows_share = type.has_strings() ? target_bytes / 2 : target_bytes;
  batch_shape shape;
  shape.max_rows = std::clamp<size_t>(rows_share / row_bytes, 1, 16384);
  shape.target_heap_bytes =
      type.has_strings() ? std::max<size_t>(target_bytes / 2, 1) : std::numeric_limits<size_t>::max();
  return shape;
}

batch_builder::batch_builder(const row_type& type, batch_pool& pool, const batch_limits& limits)
    : pool_(&pool),
      shape_(shape_for(type, limits.target_bytes)),
      row_bytes_(type.row_bytes()),
      // Short rows that are appended together may take what a batch should have, however small the limit.
      longest_row_(std::max<uint64_t>(limits.row_bytes, limits.target_bytes)) {
  for (const column& c : type.columns())
    if (c.type.is_string()) string_offsets_.push_back(c.offset);
}

void batch_builder::start() { rows_ = pool_->take(shape_.max_rows * std::max<size_t>(row_bytes_, 1)); }

std::byte* batch_builder::append(size_t count) {
  if (!rows_) start();
  FLOWRUN_CHECK(num_rows_ + count <= shape_.max_rows);
  std::byte* first = rows_.get() + num_rows_ * row_bytes_;
  num_rows_ += count;
  row_texts_from_ = heap_num_bytes_;
  return first;
}

void batch_builder::append_row(const std::byte* row, const std::byte* heap) {
  std::byte* to = append();
  std::memcpy(to, row, row_bytes_);
  size_t num_bytes = 0;
  for (uint32_t offset : string_offsets_) num_bytes += load_ref(row + offset).length;
  expect_texts(num_bytes);
  for (uint32_t offset : string_offsets_) put_string(to + offset, load_string(row + offset, heap));
}

// For the first text of a batch and for long rows: usual rows never come here. Pages that nothing is written to take no
// memory, so that a capacity beyond what is needed costs nothing, but each copy to a larger heap does.
void batch_builder::grow_heap(size_t num_bytes) {
  const uint64_t of_row = num_bytes - row_texts_from_ + row_bytes_;
  if (of_row > longest_row_) throw row_too_large(of_row, longest_row_);
  if (num_bytes > std::numeric_limits<uint32_t>::max())
    throw error(error_kind::bad_data,
                fmt::format("strings of one batch exceed 4 GiB (a row of {})", format_bytes(of_row)),
                "split the line or store it as several rows");
  if (num_bytes > heap_allocated_) {
    const size_t usual = shape_.target_heap_bytes + shape_.target_heap_bytes / 4;
    const size_t capacity =
        std::max({std::bit_ceil(num_bytes), std::bit_ceil(std::min<size_t>(usual, 1 << 20)), size_t{256}});
    std::shared_ptr<std::byte[]> larger = pool_->take(capacity);
    if (heap_num_bytes_ > 0) std::memcpy(larger.get(), heap_.get(), heap_num_bytes_);
    heap_ = std::move(larger);
    heap_allocated_ = capacity;
  }
  const uint64_t most_texts = longest_row_ - row_bytes_;
  heap_capacity_ = heap_allocated_ - row_texts_from_ > most_texts ? row_texts_from_ + most_texts : heap_allocated_;
}

void batch_builder::put_string(std::byte* field, std::string_view text) {
  const size_t needed = heap_num_bytes_ + text.size();
  if (needed > heap_capacity_) [[unlikely]]
    grow_heap(needed);
  if (!text.empty()) std::memcpy(heap_.get() + heap_num_bytes_, text.data(), text.size());
  const string_ref ref{static_cast<uint32_t>(heap_num_bytes_), static_cast<uint32_t>(text.size())};
  std::memcpy(field, &ref, sizeof ref);
  heap_num_bytes_ = needed;
}

batch batch_builder::take() {
  batch out;
  out.row_bytes = row_bytes_;
  out.num_rows = num_rows_;
  if (num_rows_ > 0) {
    out.rows = rows_.get();
    out.heap = heap_.get();
    out.heap_bytes = heap_num_bytes_;
    if (heap_) {
      auto both = std::make_shared<std::pair<std::shared_ptr<std::byte[]>, std::shared_ptr<std::byte[]>>>(
          std::move(rows_), std::move(heap_));
      out.owner = std::move(both);
    } else {
      out.owner = std::move(rows_);
    }
  }
  rows_.reset();
  heap_.reset();
  num_rows_ = heap_num_bytes_ = heap_capacity_ = heap_allocated_ = row_texts_from_ = 0;
  return out;
}

}  // namespace flowrun::record
