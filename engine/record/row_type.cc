#include "engine/record/row_type.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace flowrun::record {

row_type::row_type(std::vector<column> columns) : columns_(std::move(columns)) {
  constexpr uint32_t most_bytes = uint32_t{1} << 30;
  for (column& c : columns_) {
    if (c.type.num_bytes > most_bytes - row_bytes_)
      throw error(error_kind::bad_spec,
                  fmt::format("rows of {} columns take more than {}", columns_.size(), format_bytes(most_bytes)),
                  "fewer columns, or strings in place of long bytes[N]");
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
