// Which fields of a record are which columns: by their position, or as the header of the file names them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/record/row_type.h"
#include "operators/parts/text/text_scan.h"

namespace flowrun::operators {

struct csv_layout {
  struct taken_field {
    size_t field = 0;   // its index in the record
    size_t column = 0;  // that it becomes
    bool operator==(const taken_field&) const = default;
  };
  std::vector<taken_field> taken;  // in the order of the fields; every column once
  size_t num_fields = 0;           // of a record

  // Field i is column i.
  static csv_layout in_order(size_t num_columns);
  bool is_in_order() const { return *this == in_order(taken.size()); }
  bool operator==(const csv_layout&) const = default;
};

// The layout of the file `path` with the header `record`, with its line end or without. `wanted`: the names that the
// columns have in it, in the order of the columns, distinct. `columns`: the names in `type`, for advice; `wanted` when
// they are left out. Throws error(bad_data) when some are missing or one is there twice.
csv_layout layout_by_header(const std::string& path, std::string_view record, const std::vector<std::string>& wanted,
                            const csv_format& format, const std::vector<std::string>& columns = {});

}  // namespace flowrun::operators
