// Pieces of CSV text (whole records) into batches of rows. Stateless, so that pieces are parsed in parallel.
//
// Cost: one pass; a field is found eight bytes at a time and converted at once. Strings are copied into the batch's own
// heap, so that the text's buffer goes back to the reader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/record/batch.h"
#include "engine/record/row_type.h"
#include "operators/parts/text/csv_layout.h"
#include "operators/parts/text/csv_missing.h"
#include "operators/parts/text/csv_times.h"
#include "operators/parts/text/field_skip.h"
#include "operators/parts/text/record_parsing.h"
#include "operators/parts/text/row_filler.h"
#include "operators/parts/text/text_scan.h"

namespace flowrun::operators {

class csv_parser {
 public:
  // `type`: of the rows, the columns that the fields have, and behind them those that tell what is missing.
  csv_parser(record::row_type type, csv_format format, csv_missing missing = {}, csv_times times = {});

  // Appends the rows of `text` to `rows`, in batches of about batch_bytes, and ends early once these and what was
  // rejected take about `most_bytes`. `first_line` counts the line ends before the text in its file. Each malformed
  // record goes to `reject`; when that returns false, the rest is left alone. `layout`: of all the records; null: field
  // i is column i. Thread-safe.
  parse_progress parse(std::string_view text, uint64_t first_line, record::batch_pool& pool, size_t batch_bytes,
                       std::vector<record::batch>& rows, const record_rejecter& reject,
                       uint64_t most_bytes = ~uint64_t{0}, const csv_layout* layout = nullptr) const;

 private:
  struct failure;
  // Of each the code does what it must and no more.
  enum class way { in_order, by_layout, with_all };  // with_all: also missing values, and forms of times
  template <way how>
  [[gnu::noinline]] const char* parse_record(const char* p, const char* end, const csv_layout& layout, std::byte* row,
                                             row_filler& to, failure& why) const;
  const char* read_field(const char* p, const char* end, std::string_view& field, std::string& unescaped,
                         failure& why) const;
  void explain_skip(const char* p, const char* end, size_t field, size_t next, size_t num_fields, failure& why) const;
  size_t count_fields(const char* p, const char* end) const;

  record::row_type type_;
  csv_format format_;
  csv_missing missing_;
  csv_times times_;
  csv_layout in_order_;
  field_skip skip_;
};

}  // namespace flowrun::operators
