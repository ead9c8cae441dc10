// A table of CSV as it was seen, and the source that reads it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "operators/parts/infer/column_evidence.h"
#include "operators/parts/infer/inferred_source.h"
#include "operators/parts/text/text_scan.h"

namespace flowrun::operators {

// A record that the reader will refuse.
struct malformed_line {
  std::string path;
  field_place where;
  std::string reason;
};

struct csv_table {
  csv_format format;
  bool has_header = false;
  std::vector<std::string> headers;      // of the fields in their order; empty without a header
  std::vector<column_evidence> columns;  // of the fields in their order
  uint64_t num_rows = 0;
  uint64_t num_malformed = 0;               // records
  uint64_t malformed_lines = 0;             // of these
  bool has_open_quote = false;              // one that takes several lines
  std::vector<malformed_line> malformed{};  // the first few
  std::vector<std::string> questions{};     // that came up before
};

// "path:7", or "path, byte 1,200" where the line isn't known.
std::string place_text(const std::string& path, const field_place& where);

// Throws error(bad_data) where so many lines are malformed that it is no table, or no column can be taken.
inferred_source source_of(const csv_table& table);

}  // namespace flowrun::operators
