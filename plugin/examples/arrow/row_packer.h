// Columns of Arrow to packed rows.
//
// Rows are made tile by tile, so that a tile stays in the cache while column after column is put into it.
#pragma once

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include <flowrun/plugin.hpp>
#include <memory>
#include <string>
#include <vector>

#include "type_map.h"

namespace columnar {

// A column of one record batch: where its values lie. Nulls are looked at apart from values.
struct cells {
  enum class layout { fixed, decimal, bits, text, large_text, text_view };

  layout how = layout::fixed;
  uint32_t width = 0;                   // of `fixed` and `decimal`, in the file
  const uint8_t* values = nullptr;      // of row 0
  int64_t first_bit = 0;                // of `bits`
  const void* offsets = nullptr;        // of texts: of row 0
  const arrow::Array* views = nullptr;  // of `text_view`
  time_scale scale;                     // of timestamps
  std::vector<int64_t> entries;         // of a dictionary: which value each row has; empty: its own
  bool has_nulls = false;
  std::shared_ptr<arrow::Array> rows, dictionary;  // keep it alive; `dictionary` may be null

  bool is_null(int64_t row) const {
    if (!has_nulls) return false;
    return rows->IsNull(row) || (dictionary != nullptr && dictionary->IsNull(entries[static_cast<size_t>(row)]));
  }
};

// Rows of one record batch.
class row_packer {
 public:
  // Columns of the batch by the names of the type's columns.
  row_packer(const fr::row_type& type, const arrow::RecordBatch& batch);

  int64_t num_rows() const { return num_rows_; }
  bool has_nulls() const { return has_nulls_; }
  // The column of the first null of a row; empty: there is none.
  const std::string* null_column(int64_t row) const;

  // How many rows from `from` on, of at most `most`, have texts of at most `most_bytes`; at least one.
  int64_t rows_within(int64_t from, int64_t most, uint64_t most_bytes) const;
  // The bytes of texts of rows [from, from + count).
  uint64_t text_bytes(int64_t from, int64_t count) const;
  // Packs them; nulls become zero, false and empty.
  void pack(int64_t from, int64_t count, unsigned char* rows, unsigned char* heap) const;

 private:
  const fr::row_type& type_;
  int64_t num_rows_;
  bool has_nulls_ = false;
  std::vector<cells> columns_;
  std::vector<size_t> texts_;  // which of them are texts
};

}  // namespace columnar
