// Makes rows of a job's type of the rows of a NumPy file: columns by their offsets, bytes in the other order, numbers
// of other widths. What is no value of its column rejects the row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/record/row_type.h"
#include "operators/parts/files/npy_layout.h"

namespace flowrun::operators {

// A row of a piece that is none of the type, by its first column that is no value.
struct npy_rejected_row {
  size_t row = 0;     // in the piece
  size_t column = 0;  // of the type
  std::string reason;
};

// Copies `num_rows` rows of the file to `to`, which has room for all; those that are rejected are left out. Returns how
// many rows there are. Appends to `rejected`, by row.
size_t rows_of_npy(const npy_layout& layout, const record::row_type& type, const std::byte* from, size_t num_rows,
                   std::byte* to, std::vector<npy_rejected_row>& rejected);

}  // namespace flowrun::operators
