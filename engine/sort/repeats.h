// The last step of `unique` for narrow rows: removes what two neighbouring batches have in common.
//
// Slices of a merge are refined apart from each other, so each batch is free of repetitions, but its first row may
// equal the last row of the batch before. Narrow rows are unique only by all their bytes (settings.h), so equal rows
// are equal bytes. Cost: one comparison per batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/record/batch.h"

namespace flowrun::sort {

// Sees the batches of one sorted stream in order. Not thread-safe.
class repeat_remover {
 public:
  // Rows of `row_bytes` bytes without strings.
  explicit repeat_remover(uint32_t row_bytes) : row_bytes_(row_bytes) {}

  // Drops the rows at the front of the batch that equal the last row of the batches before; none may be left.
  void push(record::batch& rows);

 private:
  const uint32_t row_bytes_;
  std::vector<std::byte> last_;  // empty before the first row
};

}  // namespace flowrun::sort
