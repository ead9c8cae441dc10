// Copies columns from rows of one type into rows of another, as few pieces as possible: columns that lie side by side
// in both types move together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "engine/record/batch.h"

namespace flowrun::operators {

// memcpy of the few bytes that a column has, without a call for the usual widths.
inline void copy_bytes(std::byte* to, const std::byte* from, uint32_t num_bytes) {
  switch (num_bytes) {
    case 4: std::memcpy(to, from, 4); return;
    case 8: std::memcpy(to, from, 8); return;
    case 12: std::memcpy(to, from, 12); return;
    case 16: std::memcpy(to, from, 16); return;
    case 24: std::memcpy(to, from, 24); return;
    default: std::memcpy(to, from, num_bytes);
  }
}

// New rows whose strings lie in the heap of `in`: a batch that owns `rows` and keeps `in` alive.
record::batch sharing_heap(const record::batch& in, std::shared_ptr<std::byte[]> rows, size_t num_rows,
                           uint32_t row_bytes);

class column_copy {
 public:
  // Column `first` of `from` goes to column `second` of `to`; their types are equal.
  column_copy(const record::row_type& from, const record::row_type& to,
              const std::vector<std::pair<size_t, size_t>>& columns);

  // The row as it lies there: string references stay what they are, so both rows must share a heap.
  void copy_fields(const std::byte* from, std::byte* to) const {
    for (const span& s : spans_) copy_bytes(to + s.to, from + s.from, s.num_bytes);
  }
  // The strings go into the heap of `into`, to whom the row `to` belongs.
  void copy(const std::byte* from, const std::byte* heap, std::byte* to, record::batch_builder& into) const {
    copy_fields(from, to);
    for (const string_field& s : strings_) {
      const std::string_view text = record::load_string(from + s.from, heap);
      if (text.size() >= long_text && &s == &strings_.front()) into.expect_texts(text_bytes(from));
      into.put_string(to + s.to, text);
    }
  }
  bool has_strings() const { return !strings_.empty(); }
  // What copy() adds to the heap.
  size_t text_bytes(const std::byte* from) const {
    size_t total = 0;
    for (const string_field& s : strings_) total += record::load_ref(from + s.from).length;
    return total;
  }

 private:
  static constexpr size_t long_text = 64 * 1024;

  struct span {
    uint32_t from, to, num_bytes;
  };
  struct string_field {
    uint32_t from, to;
  };
  std::vector<span> spans_;
  std::vector<string_field> strings_;
};

}  // namespace flowrun::operators
