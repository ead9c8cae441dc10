// Record batches to the bytes of a file.
#pragma once

#include <arrow/record_batch.h>

#include <memory>
#include <string>

#include "byte_collector.h"
#include "counting_pool.h"

namespace columnar {

struct encoding {
  std::string path;         // for errors
  std::string compression;  // none, snappy, zstd, lz4
  // Of Parquet: a row group ends when it has as many of one of these.
  int64_t rows_of_group = 0, bytes_of_group = 0;
};

// One thread at a time. What fails throws an fr::error.
class output_encoder {
 public:
  virtual ~output_encoder() = default;
  virtual void write(const arrow::RecordBatch& rows) = 0;
  // Ends a row group, where the format has them: the rows that follow are of the next one.
  virtual void end_portion() = 0;
  // Behind the last rows.
  virtual void close() = 0;
};

std::unique_ptr<output_encoder> encode_parquet(const encoding& how, const std::shared_ptr<arrow::Schema>& schema,
                                               std::shared_ptr<byte_collector> to, counting_pool& pool);
std::unique_ptr<output_encoder> encode_ipc(const encoding& how, const std::shared_ptr<arrow::Schema>& schema,
                                           std::shared_ptr<byte_collector> to, counting_pool& pool);

}  // namespace columnar
