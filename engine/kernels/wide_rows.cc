#include "engine/kernels/wide_rows.h"

#include <algorithm>

namespace flowrun::kernels {

wide_rows::wide_rows(const record::row_type& type, const record::key& key) : row_bytes_(type.row_bytes()) {
  if (!key.empty()) key_begin_ = row_bytes_;
  for (const record::key_part& p : key) {
    key_begin_ = std::min(key_begin_, type[p.column].offset);
    key_end_ = std::max(key_end_, type[p.column].offset + type[p.column].type.num_bytes);
  }
  for (size_t i = 0; i < type.num_columns(); ++i) {
    if (!type[i].type.is_string()) continue;
    strings_.push_back(type[i].offset);
    in_key_.push_back(std::any_of(key.begin(), key.end(), [&](const record::key_part& p) { return p.column == i; }));
  }
}

void wide_rows::copy_key(const std::byte* row, const std::byte* heap, std::vector<std::byte>& copy) const {
  copy.assign(row + key_begin_, row + key_end_);
  for (size_t i = 0; i < strings_.size() && strings_[i] < key_end_; ++i) {
    if (strings_[i] < key_begin_) continue;
    record::string_ref ref{0, 0};
    if (in_key_[i]) {
      const std::string_view text = record::load_string(row + strings_[i], heap);
      ref = {static_cast<uint32_t>(copy.size()), static_cast<uint32_t>(text.size())};
      const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
      copy.insert(copy.end(), bytes, bytes + text.size());
    }
    std::memcpy(copy.data() + (strings_[i] - key_begin_), &ref, sizeof ref);
  }
}

bool wide_rows::holds_key(std::span<const std::byte> copy) const {
  if (copy.size() < key_end_ - key_begin_) return false;
  for (size_t i = 0; i < strings_.size(); ++i) {
    if (!in_key_[i]) continue;
    const record::string_ref ref = record::load_ref(copy.data() + (strings_[i] - key_begin_));
    if (ref.offset > copy.size() || ref.length > copy.size() - ref.offset) return false;
  }
  return true;
}

size_t wide_rows::key_bytes(const std::byte* row) const {
  size_t num_bytes = key_end_ - key_begin_;
  for (size_t i = 0; i < strings_.size(); ++i)
    if (in_key_[i]) num_bytes += record::load_ref(row + strings_[i]).length;
  return num_bytes;
}

}  // namespace flowrun::kernels
