#include "operators/row_history.h"

#include <limits>

#include "engine/base/error.h"

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
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  heap_.insert(heap_.end(), bytes, bytes + text.size());
  std::memcpy(field, &ref, sizeof ref);
}

void row_history::append(const record::batch& rows) {
  const size_t before = rows_.size();
  rows_.insert(rows_.end(), rows.rows, rows.rows + rows.num_rows * row_bytes_);
  for (size_t i = 0; i < rows.num_rows && !string_offsets_.empty(); ++i)
    for (uint32_t offset : string_offsets_)
      store_string(rows_.data() + before + i * row_bytes_ + offset,
                   record::load_string(rows.row(i) + offset, rows.heap));
  num_rows_ += rows.num_rows;
}

void row_history::drop_before(uint64_t row) {
  if (row <= first_) return;
  num_rows_ -= row - first_;
  first_ = row;
  if (2 * (first_ - stored_from_) <= num_rows_ + (first_ - stored_from_)) return;
  rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>((first_ - stored_from_) * row_bytes_));
  stored_from_ = first_;
  if (string_offsets_.empty()) return;
  const std::vector<std::byte> old = std::exchange(heap_, {});
  for (uint64_t i = 0; i < num_rows_; ++i)
    for (uint32_t offset : string_offsets_) {
      std::byte* field = rows_.data() + i * row_bytes_ + offset;
      store_string(field, record::load_string(field, old.data()));
    }
}

}  // namespace flowrun::operators
