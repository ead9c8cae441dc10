// A row type: named, typed columns, packed in declared order without padding.
//
// A file of rows without strings is exactly a packed C struct or a NumPy structured array.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/record/value_type.h"

namespace flowrun::record {

struct column {
  std::string name;
  value_type type;
  uint32_t offset = 0;  // bytes from the start of the row
  bool operator==(const column&) const = default;
};

class row_type {
 public:
  row_type() = default;
  // Offsets are set here. Names must be distinct.
  explicit row_type(std::vector<column> columns);

  const std::vector<column>& columns() const { return columns_; }
  const column& operator[](size_t i) const { return columns_[i]; }
  size_t num_columns() const { return columns_.size(); }
  uint32_t row_bytes() const { return row_bytes_; }
  bool has_strings() const { return has_strings_; }
  std::optional<size_t> index_of(std::string_view name) const;
  std::vector<std::string> names() const;
  bool operator==(const row_type&) const = default;

 private:
  std::vector<column> columns_;
  uint32_t row_bytes_ = 0;
  bool has_strings_ = false;
};

// "{src: u64, dst: u64}"
std::string to_string(const row_type& type);

}  // namespace flowrun::record
