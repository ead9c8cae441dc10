#include "operators/parts/files/boolean_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "engine/base/error.h"

namespace flowrun::operators {

boolean_bytes::boolean_bytes(const record::row_type& type) {
  std::copy_if(type.columns().begin(), type.columns().end(), std::back_inserter(booleans_),
               [](const record::column& c) { return c.type.is_boolean(); });
}

void boolean_bytes::check(const record::batch& rows, const std::string& path, uint64_t first_row) const {
  if (booleans_.empty()) return;
  const std::byte* row = rows.rows;
  for (size_t i = 0; i < rows.num_rows; ++i, row += rows.row_bytes)
    for (const record::column& c : booleans_)
      if (row[c.offset] > std::byte{1}) [[unlikely]]
        throw error(error_kind::bad_data,
                    fmt::format("{}: in row {} (counted from 0) column '{}' is the byte {}, and a bool is 0 or 1", path,
                                first_row + i, c.name, static_cast<unsigned>(row[c.offset])),
                    "is `type` the type it was written with? A u8 is any byte");
}

}  // namespace flowrun::operators
