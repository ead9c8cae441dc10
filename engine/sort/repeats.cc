#include "engine/sort/repeats.h"

#include <cstring>

namespace flowrun::sort {

void repeat_remover::push(record::batch& rows) {
  if (rows.num_rows == 0) return;
  size_t repeated = 0;
  if (!last_.empty()) {
    while (repeated < rows.num_rows && std::memcmp(rows.row(repeated), last_.data(), row_bytes_) == 0) ++repeated;
  }
  const std::byte* last = rows.row(rows.num_rows - 1);
  last_.assign(last, last + row_bytes_);
  if (repeated > 0) rows = rows.slice(repeated, rows.num_rows - repeated);
}

}  // namespace flowrun::sort
