// Columns of numbers that a file has just as rows have them, taken from their pages as they are.
//
// Arrow's reader of record batches puts each value where its row is and notes for each row whether it has one. Columns
// seldom have nulls, and a page tells in a few bytes that it has none: only pages with nulls are spread out here.
#pragma once

#include <arrow/array.h>
#include <arrow/result.h>
#include <arrow/type.h>
#include <parquet/column_reader.h>
#include <parquet/schema.h>

#include <cstdint>
#include <memory>

#include "counting_pool.h"

namespace columnar {

// One thread at a time.
class flat_column {
 public:
  virtual ~flat_column() = default;
  // The next rows, exactly so many. Fails where the column chunk has fewer, and throws what Parquet's readers throw.
  virtual arrow::Result<std::shared_ptr<arrow::Array>> next(int64_t num_rows) = 0;
};

// Whether values of this type lie in the file's column as they do in memory, one for each row or none.
bool is_flat(const parquet::ColumnDescriptor& column, const arrow::DataType& type);

// A column of which that is true, in one row group, of which these are its pages.
std::unique_ptr<flat_column> open_flat_column(const parquet::ColumnDescriptor& column,
                                              std::unique_ptr<parquet::PageReader> pages,
                                              std::shared_ptr<arrow::DataType> type, counting_pool& pool);

}  // namespace columnar
