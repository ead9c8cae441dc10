// From a finished chunk to packed output rows.
//
// Columns that are passed on are copied as byte ranges straight from the input rows (neighbouring columns as one
// range); computed columns are narrowed from their registers. Strings that lie in the input's heap share it when all
// string columns do; otherwise all strings go into a new heap, and a batch is cut before its heap gets large. A writer
// that has made as much as it should takes no more rows.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/expr/chunk_code.h"
#include "engine/expr/run_limits.h"
#include "engine/record/batch.h"
#include "engine/record/row_type.h"

namespace flowrun::expr {

struct output_copy {
  uint32_t from = 0, to = 0, num_bytes = 0;
  copy_kernel copy = nullptr;
};

struct output_field {
  record::value_type type;
  uint32_t offset = 0;
  register_ref place;
  store_kernel store = nullptr;
};

struct output_layout {
  std::vector<output_copy> copies;
  std::vector<output_field> fields;
  size_t row_bytes = 0;
  size_t max_rows = 0;          // rows of a batch
  size_t max_heap_bytes = 0;    // a batch is cut when its own heap reached this
  bool shares_heap = false;     // strings refer to the input's heap
  bool copies_strings = false;  // strings go into a new heap
  bool is_input_row = false;    // the row is passed on as it is
};

// How to make rows of `output` whose columns are `columns`; `needed` gets the values of layout.fields, in that order,
// whose places the caller fills in.
output_layout plan_output(const value_graph& graph, const record::row_type& input, const record::row_type& output,
                          const std::vector<value_id>& columns, std::vector<value_id>& needed);

class chunk_writer {
 public:
  // `in` is null when rows are generated. At most `num_rows` rows will come.
  chunk_writer(const output_layout& layout, const record::batch* in, size_t num_rows, const run_limits& limits,
               record::batch_pool& pool, std::vector<record::batch>& out);

  bool full() const { return num_bytes_ + num_rows_ * layout_.row_bytes + heap_bytes_ >= limits_.num_bytes; }
  // How many rows the next chunk should have.
  size_t rows_wanted(const chunk_frame& frame) const;
  // Appends the `count` rows that survived of the chunk that starts at row `first` of the input, until it is full.
  // Returns how many rows of the chunk are done: all that the frame has taken, or else the next chunk begins there.
  size_t append(chunk_frame& frame, size_t first, size_t count);
  // Appends rows [first, first + count) of the input as they are (layout.is_input_row).
  void append_unchanged(size_t first, size_t count);
  // Hands out what is left.
  void finish();

 private:
  size_t append_with_strings(const chunk_frame& frame, size_t first, size_t count);
  void make_room(size_t count);
  uint64_t heap_bytes_of(const chunk_frame& frame, size_t row) const;
  void append_range(const chunk_frame& frame, size_t first, size_t from, size_t count);
  void put_strings(std::byte* field, const text_operand& texts, size_t from, size_t count);
  void reserve_heap(uint64_t num_bytes);

  const output_layout& layout_;
  const record::batch* in_;
  size_t rows_to_come_;
  record::batch_pool& pool_;
  std::vector<record::batch>& out_;
  const run_limits limits_;
  uint64_t num_bytes_ = 0;  // of finished batches, without a heap that they share
  std::shared_ptr<std::byte[]> rows_;
  size_t num_rows_ = 0, capacity_ = 0;
  std::shared_ptr<std::byte[]> heap_;
  uint64_t heap_bytes_ = 0, heap_capacity_ = 0;
};

}  // namespace flowrun::expr
