#include "operators/parts/order/row_history.h"

#include <limits>

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace flowrun::operators {

row_history::row_history(const record::row_type& type) : row_bytes_(type.row_bytes()) {
  for (const record::column& c : type.columns())
    if (c.type.is_string()) string_offsets_.push_back(c.offset);
}

void row_history::store_string(std::byte* field, std::string_view text) {
  if (heap_.size() + text.size() > std::numeric_limits<uint32_t>::max())
    throw error(error_kind::bad_data, "the strings of a window exceed 4 GiB",
                "make the window smaller, or drop columns of text before it");
  const record::string_ref ref{static_cast<uint32_t>(heap_.size()), static_cast<uint32_t>(text.size())};
  heap_.append(text.data(), text.size());
  std::memcpy(field, &ref, sizeof ref);
}

void row_history::append(const record::batch& rows) {
  const size_t before = rows_.size();
  rows_.append(rows.rows, rows.num_rows * row_bytes_);
  for (size_t i = 0; i < rows.num_rows && !string_offsets_.empty(); ++i)
    for (uint32_t offset : string_offsets_)
      store_string(rows_.data() + before + i * row_bytes_ + offset,
                   record::load_string(rows.row(i) + offset, rows.heap));
  num_rows_ += rows.num_rows;
}

// Strings lie in the order of their rows: those of dropped rows end where the first one of a needed row begins.
size_t row_history::dropped_heap_bytes() const {
  if (string_offsets_.empty()) return 0;
  return num_rows_ == 0 ? heap_.size() : record::load_ref(row(first_) + string_offsets_.front()).offset;
}

void row_history::drop_before(uint64_t row) {
  if (row <= first_) return;
  num_rows_ -= row - first_;
  first_ = row;
  if (dropped_bytes() <= num_bytes()) return;
  const size_t heap_bytes = dropped_heap_bytes();
  rows_.erase_front((first_ - stored_from_) * row_bytes_);
  stored_from_ = first_;
  if (heap_bytes == 0) return;
  heap_.erase_front(heap_bytes);
  for (uint64_t i = 0; i < num_rows_; ++i)
    for (uint32_t offset : string_offsets_) {
      std::byte* field = rows_.data() + i * row_bytes_ + offset;
      record::string_ref ref = record::load_ref(field);
      ref.offset -= static_cast<uint32_t>(heap_bytes);
      std::memcpy(field, &ref, sizeof ref);
    }
}

}  // namespace flowrun::operators
