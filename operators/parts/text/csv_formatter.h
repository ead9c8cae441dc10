// Rows into CSV text (RFC 4180, with '\n' as line end): a field is quoted only where it must be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/record/batch.h"
#include "engine/record/row_type.h"
#include "operators/parts/files/text_block.h"
#include "operators/parts/text/text_scan.h"
#include "operators/parts/text/written_missing.h"

namespace flowrun::operators {

class csv_formatter {
 public:
  csv_formatter(std::vector<record::column> columns, csv_format format);
  // `null_text` is the field of a missing value; a text of the same bytes is quoted.
  csv_formatter(written_missing columns, csv_format format, std::string null_text);

  // The rows of `in` as lines, from the first on, until they take `most_bytes`; at least one. Throws error(bad_data)
  // when a field needs quotes and the format has none. `ends` (may be null): where each line ends is added.
  // Thread-safe.
  text_block format(const record::batch& in, record::batch_pool& pool, uint64_t most_bytes = ~uint64_t{0},
                    std::vector<size_t>* ends = nullptr) const;
  // The names of the columns as a line. Throws error(bad_data) as format().
  std::string header(const std::vector<std::string>& names) const;
  // Also a first field that at the beginning of a file would be taken for a byte order mark, or for a compressed file:
  // whichever row that is, so that it doesn't matter where a file begins.
  bool needs_quotes(std::string_view field, size_t column) const;

 private:
  [[noreturn]] void refuse_unquoted(std::string_view field, size_t column) const;

  bool may_need_quotes(const record::value_type& type) const;

  written_missing columns_;
  csv_format format_;
  std::string null_text_;
  size_t number_chars_ = 0;  // most bytes that numbers, delimiters and the line end of a row take
};

}  // namespace flowrun::operators
