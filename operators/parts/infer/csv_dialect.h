// Which bytes stand between and around the fields of a text, as its first lines show.
//
// Each candidate cuts the lines into fields; the one wins whose lines have the same number of fields, and whose fields
// look like values: numbers, times, words, texts in quotes, and nothing that holds another candidate.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "operators/parts/text/text_scan.h"

namespace flowrun::operators {

struct csv_dialect {
  csv_format format;
  size_t num_fields = 1;      // that most records have
  double agreeing = 0;        // the share of the records that have so many
  double score = 0;           // 0 to 1
  size_t num_records = 0;     // that were looked at
  bool first_agrees = false;  // the first record has so many, too
};

// The best of all candidates, or of those with this delimiter. `text` begins with a record; the last one is left alone
// where `whole` doesn't say that it ends with the text.
csv_dialect guess_dialect(std::string_view text, bool whole, std::optional<char> delimiter);

// Whether that is a table, rather than lines of prose, code or a log: nothing is lost where lines are read as they are.
bool is_table(const csv_dialect& dialect);

}  // namespace flowrun::operators
