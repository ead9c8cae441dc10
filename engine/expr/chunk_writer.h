// From a finished chunk to packed output rows.
//
// Columns that are passed on are copied as byte ranges straight from the input rows (neighbouring columns as one
// range); computed columns are narrowed from their registers. Strings that lie in the input's heap share it when all
// string columns do; otherwise all strings go into a new heap, and a batch is cut before its heap gets large.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/expr/chunk_code.h"
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
  chunk_writer(const output_layout& layout, const record::batch* in, size_t num_rows, record::batch_pool& pool,
               std::vector<record::batch>& out);

  // Appends the `count` rows that survived of the chunk that starts at row `first` of the input.
  void append(const chunk_frame& frame, size_t first, size_t count);
  // Appends rows [first, first + count) of the input as they are (layout.is_input_row).
  void append_unchanged(size_t first, size_t count);
  // Hands out what is left.
  void finish();

 private:
  void make_room(size_t count);
  void append_range(const chunk_frame& frame, size_t first, size_t from, size_t count);
  void put_strings(std::byte* field, const text_operand& texts, size_t from, size_t count);
  void reserve_heap(uint64_t num_bytes);

  const output_layout& layout_;
  const record::batch* in_;
  size_t rows_to_come_;
  record::batch_pool& pool_;
  std::vector<record::batch>& out_;
  std::shared_ptr<std::byte[]> rows_;
  size_t num_rows_ = 0, capacity_ = 0;
  std::shared_ptr<std::byte[]> heap_;
  uint64_t heap_bytes_ = 0, heap_capacity_ = 0;
};

}  // namespace flowrun::expr
