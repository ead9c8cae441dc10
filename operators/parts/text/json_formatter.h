// Rows into JSON lines: an object a line, the keys in the order of the columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/record/batch.h"
#include "engine/record/row_type.h"
#include "operators/parts/files/text_block.h"
#include "operators/parts/text/json_layout.h"
#include "operators/parts/text/written_missing.h"

namespace flowrun::operators {

class json_formatter {
 public:
  // `columns`: those that `layout` is about. Columns of the same object are written together, where the first of them
  // stands.
  json_formatter(std::vector<record::column> columns, const json_layout& layout);
  // Missing values are null. `node`: whose rows they are, for errors.
  json_formatter(written_missing columns, const json_layout& layout, std::string node);

  // The rows of `in` as lines, from the first on, until they take `most_bytes`; at least one. Throws error(bad_data)
  // when a text isn't UTF-8. `ends` (may be null): where each line ends is added. Thread-safe.
  text_block format(const record::batch& in, record::batch_pool& pool, uint64_t most_bytes = ~uint64_t{0},
                    std::vector<size_t>* ends = nullptr) const;

 private:
  struct value {
    std::string before;  // from the end of the value in front of it, or the beginning of the line
    size_t column = 0;
  };
  void add(const json_layout& layout, size_t object, std::string& between);
  [[noreturn]] void refuse_bytes(std::string_view text, size_t column, const std::byte* row,
                                 const std::byte* heap) const;

  written_missing columns_;
  std::string node_;
  std::vector<value> values_;
  std::string behind_;      // the last value, with the line end
  size_t fixed_chars_ = 0;  // most bytes of a line but for its texts
};

}  // namespace flowrun::operators
