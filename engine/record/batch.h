// Batches: what flows along an edge of the DAG (decision D1).
//
// A batch is num_rows packed rows of row_bytes each plus, for rows with strings, a heap that the rows' string_refs
// point into. It is a view with an owner: cutting a batch or handing it to several consumers copies nothing, and a disk
// block can be a batch as it is. The bytes behind a batch never change once it was handed on.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/record/batch_pool.h"
#include "engine/record/row_type.h"

namespace flowrun::record {

struct batch {
  const std::byte* rows = nullptr;
  size_t num_rows = 0;
  uint32_t row_bytes = 0;
  const std::byte* heap = nullptr;
  size_t heap_bytes = 0;
  // Position of the first row in its stream, where the stream counts (sources do; behind a filter it means nothing).
  uint64_t first_row = 0;
  std::shared_ptr<const void> owner;

  const std::byte* row(size_t i) const { return rows + i * row_bytes; }
  // Rows [from, from + count) of this batch; shares the owner.
  batch slice(size_t from, size_t count) const {
    batch part = *this;
    part.rows = row(from);
    part.num_rows = count;
    part.first_row = first_row + from;
    return part;
  }
  size_t num_bytes() const { return num_rows * row_bytes + heap_bytes; }
};

inline string_ref load_ref(const std::byte* field) {
  string_ref ref;
  std::memcpy(&ref, field, sizeof ref);
  return ref;
}

inline std::string_view load_string(const std::byte* field, const std::byte* heap) {
  const string_ref ref = load_ref(field);
  return {reinterpret_cast<const char*>(heap) + ref.offset, ref.length};
}

// Rows and heap bytes a batch should have: about 2,000-16,000 rows, resident in the L2 cache.
struct batch_shape {
  size_t max_rows = 1;
  size_t target_heap_bytes = 0;  // a builder is full once its heap reached this
};
// `target_bytes` is what a batch may take (rows plus heap).
batch_shape shape_for(const row_type& type, size_t target_bytes = 256 * 1024);

// How large a batch should become, and how long a row may be. A batch takes its target and one row more at most.
struct batch_limits {
  size_t target_bytes = 0;  // rows plus heap
  uint64_t row_bytes = 0;   // of a row with its texts; a longer one ends the job
};
// For rows whose length is bounded elsewhere: rows that lie in memory as they are, or constants.
constexpr batch_limits rows_of_any_length(size_t target_bytes = 256 * 1024) { return {target_bytes, ~uint64_t{0}}; }

// Fills a batch row by row. Not thread-safe; one builder per stage and thread.
class batch_builder {
 public:
  batch_builder(const row_type& type, batch_pool& pool, const batch_limits& limits);

  size_t num_rows() const { return num_rows_; }
  size_t max_rows() const { return shape_.max_rows; }
  size_t room() const { return num_rows_ >= shape_.max_rows ? 0 : shape_.max_rows - num_rows_; }
  // No more rows fit (or the heap is as large as it should be): take() it.
  bool full() const { return num_rows_ >= shape_.max_rows || heap_num_bytes_ >= shape_.target_heap_bytes; }
  bool empty() const { return num_rows_ == 0; }

  // So many bytes of texts make the builder full. What several rows that are appended at once have in texts must fit
  // here; else they are appended one by one.
  size_t text_room() const {
    return heap_num_bytes_ >= shape_.target_heap_bytes ? 0 : shape_.target_heap_bytes - heap_num_bytes_;
  }

  // Appends `count` rows (count <= room()) whose bytes the caller sets; string fields must be set with put_string,
  // before the next rows are appended.
  std::byte* append(size_t count = 1);
  // Appends a row of the same row type that lies in another batch, copying its strings.
  void append_row(const std::byte* row, const std::byte* heap);
  // Copies `text` into the heap and stores the reference in the field. Throws row_too_large when the row becomes longer
  // than it may be, and error(bad_data) when the heap would pass 4 GiB.
  void put_string(std::byte* field, std::string_view text);
  // The next texts of the row take so many bytes together. Worth a call where they are long: the heap grows once.
  void expect_texts(size_t num_bytes) {
    if (heap_num_bytes_ + num_bytes > heap_capacity_) grow_heap(heap_num_bytes_ + num_bytes);
  }

  // The rows so far as a batch; the builder is empty afterwards. first_row is left to the caller.
  batch take();

 private:
  void start();
  void grow_heap(size_t num_bytes);
  batch_pool* pool_;
  batch_shape shape_;
  std::vector<uint32_t> string_offsets_;
  uint32_t row_bytes_;
  std::shared_ptr<std::byte[]> rows_;
  size_t num_rows_ = 0;
  std::shared_ptr<std::byte[]> heap_;
  size_t heap_num_bytes_ = 0;
  size_t heap_capacity_ = 0;  // no more than the limit of the row that it was grown for: the next row looks again
  size_t heap_allocated_ = 0;
  size_t row_texts_from_ = 0;  // where the texts of the rows appended last begin
  uint64_t longest_row_;       // with its texts
};

}  // namespace flowrun::record
