// Pages of a column chunk that are packed with Snappy, which nearly all Parquet files are.
//
// The Snappy inside of pyarrow's Arrow is made for any x86-64, and takes 1.6 times as long for columns of prices as the
// one that the system has. So the pages are read as they are stored, and unpacked here.
#pragma once

#include <parquet/column_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include <arrow/io/interfaces.h>

#include <memory>

#include "counting_pool.h"

namespace columnar {

// Where the pages of a column chunk lie in the file, its dictionary in front. Of a damaged file anything.
arrow::io::ReadRange stored_range(const parquet::ColumnChunkMetaData& chunk);

// Null where the chunk isn't packed with Snappy, or is stored in a way that only Arrow's own reader of pages knows:
// encrypted, or by one of the writers whose metadata it corrects. Throws what Parquet's readers throw.
std::unique_ptr<parquet::PageReader> open_snappy_pages(const std::shared_ptr<arrow::io::RandomAccessFile>& file,
                                                       const parquet::FileMetaData& metadata, int row_group, int column,
                                                       parquet::ReaderProperties how, counting_pool& pool);

}  // namespace columnar
