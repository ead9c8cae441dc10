// The stage behind the head of a text source (text_source.h): pieces of text become rows, and malformed records go
// where on_error sends them. Which bytes are which columns is the parser's matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/exec/operator.h"
#include "engine/plan/node_checker.h"
#include "engine/record/batch.h"
#include "engine/record/row_type.h"
#include "operators/parts/text/byte_range.h"
#include "operators/parts/text/record_parsing.h"
#include "operators/parts/text/rejection_tally.h"
#include "operators/parts/text/text_cutter.h"

namespace flowrun::operators {

// Whole records of one file, and how much may come of them at once.
struct text_to_parse {
  std::string_view text;
  uint64_t first_line = 0;  // line ends before the text in its file
  size_t file = 0;          // index among the paths
  bool is_padded = false;   // the cutter's padding_bytes lie behind it
  size_t batch_bytes = 0;
  uint64_t most_bytes = 0;
};
// Appends to `rows`. Thread-safe.
using text_parser = std::function<parse_progress(const text_to_parse& from, record::batch_pool& pool,
                                                 std::vector<record::batch>& rows, const record_rejecter& reject)>;

struct parse_stage_options {
  std::vector<std::string> paths;
  record::row_type read_type;   // of the rows that the parser makes
  record::row_type given_type;  // the same, or with the file's name behind (file_column.h)
  bool keep_rejects = false;    // on_error names a port
  size_t batch_bytes = 0;
  line_counter lines_in_front = {};  // of the first line that is read
};
std::unique_ptr<exec::stateless_stage> make_parse_stage(parse_stage_options options, text_parser parse,
                                                        std::shared_ptr<rejection_tally> tally,
                                                        record::batch_pool& pool);

// Rows of the error port: the line as it was, and what is wrong with it.
record::row_type reject_type();

}  // namespace flowrun::operators
