#include "engine/record/row_type.h"

namespace flowrun::record {

row_type::row_type(std::vector<column> columns) : columns_(std::move(columns)) {
  for (column& c : columns_) {
    c.offset = row_bytes_;
    row_bytes_ += c.type.num_bytes;
    has_strings_ = has_strings_ || c.type.is_string();
  }
}

std::optional<size_t> row_type::index_of(std::string_view name) const {
  for (size_t i = 0; i < columns_.size(); ++i)
    if (columns_[i].name == name) return i;
  return std::nullopt;
}

std::vector<std::string> row_type::names() const {
  std::vector<std::string> out;
  for (const column& c : columns_) out.push_back(c.name);
  return out;
}

std::string to_string(const row_type& type) {
  std::string out = "{";
  for (const column& c : type.columns()) {
    if (out.size() > 1) out += ", ";
    out += c.name + ": " + to_string(c.type);
  }
  return out + "}";
}

}  // namespace flowrun::record
