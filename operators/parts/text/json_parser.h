// Pieces of JSON lines (one object a line) into batches of rows. Stateless, so that pieces are parsed in parallel.
//
// Each line is a document of its own: what is wrong with one says nothing of the next. A key is first compared with the
// one that stood there in the line before, texts are copied into the batch's heap once, and numbers are converted from
// their digits, as those of CSV are. All of a line is looked at, also what no column takes, so that no line is taken
// that isn't JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/record/batch.h"
#include "operators/parts/text/json_reading.h"
#include "operators/parts/text/record_parsing.h"

namespace flowrun::operators {

class json_parser {
 public:
  // Bytes behind a text that the parser may read.
  static constexpr size_t padding_bytes = json_reading::padding_bytes;
  // A line is put together, cut off, parsed (with four bytes for each token, and room for keys) and copied.
  static constexpr uint64_t copies_of_a_line = 9;

  // As json_reading.
  json_parser(record::row_type type, json_layout layout, bool skip_others, csv_missing missing, csv_times times)
      : reading_(std::move(type), std::move(layout), skip_others, std::move(missing), std::move(times)) {}

  // As csv_parser::parse. `is_padded`: padding_bytes of zeros lie behind the text; else its end is copied.
  parse_progress parse(std::string_view text, uint64_t first_line, bool is_padded, record::batch_pool& pool,
                       size_t batch_bytes, std::vector<record::batch>& rows, const record_rejecter& reject,
                       uint64_t most_bytes = ~uint64_t{0}) const;

  // The bytes of the shortest line, with its end.
  size_t least_line_bytes() const { return reading_.least_line_bytes; }

 private:
  const json_reading reading_;
};

}  // namespace flowrun::operators
