// Packed rows to columns of Arrow, some thousand rows at a time.
//
// Chunks are cut by the rows alone (their number and the bytes of their texts), and not by how the rows came in
// batches: so the bytes of a file are the same on any number of threads.
#pragma once

#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <flowrun/plugin.hpp>
#include <memory>
#include <vector>

#include "counting_pool.h"

namespace columnar {

class column_chunk {
 public:
  static constexpr int64_t most_bytes = 4 << 20;  // of numbers, and of texts; and one row more

  // Texts must be UTF-8 if the file has them as such.
  column_chunk(const fr::row_type& type, bool text_is_utf8, int64_t most_rows, counting_pool& pool);

  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  int64_t num_rows() const { return num_rows_; }
  bool is_full() const { return num_rows_ == most_rows_ || text_bytes_ >= most_bytes; }
  // Takes rows from `from` on, until the chunk is full or has `most`; returns how many it took.
  int64_t append(const fr::batch& rows, size_t from, int64_t most);
  // What was appended; the chunk is empty then.
  std::shared_ptr<arrow::RecordBatch> take();

 private:
  struct column {
    fr::column of_rows;
    uint32_t width = 0;                              // in the file
    std::shared_ptr<arrow::ResizableBuffer> values;  // of texts: their bytes
    std::shared_ptr<arrow::ResizableBuffer> places;  // of texts: where each begins
    int64_t num_bytes = 0;                           // of texts
  };
  void start(column& c) const;
  int64_t rows_within(const fr::batch& rows, size_t from, int64_t most) const;
  void append_texts(column& c, const fr::batch& rows, size_t from, int64_t count);
  void check_utf8(const column& c, int64_t from, int64_t count) const;
  void append_numbers(column& c, const fr::batch& rows, size_t from, int64_t count) const;

  const bool text_is_utf8_;
  counting_pool& pool_;
  const int64_t most_rows_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<column> columns_;
  int64_t num_rows_ = 0, text_bytes_ = 0;
  uint64_t rows_before_ = 0;  // of the stream, in front of this chunk
};

}  // namespace columnar
