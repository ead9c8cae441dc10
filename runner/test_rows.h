// Rows as a test writes them: maps {column: value}, lists of values in the order of the columns, or, of one column,
// plain values; to packed rows and to what a person compares.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/record/row_type.h"
#include "specs/fault_sink.h"
#include "specs/job.pb.h"

namespace flowrun::runner {

// Packed rows, as in a file. `type` has no strings. Reports every row and value that doesn't fit.
std::string packed_rows(const specs::Value& list, const record::row_type& type, specs::fault_sink& faults);

// The same rows with one NaN for all: which of its bits are set depends on how it was computed, no text says it, and it
// is nothing that a test could mean.
std::string with_one_nan(std::string rows, const record::row_type& type);

// One line for each row: {src: 1, dst: 2}; of one column its value. A rest that is no whole row is a line of its own.
std::vector<std::string> shown_rows(std::string_view bytes, const record::row_type& type);

// Each item with the delimiter behind it. Reports items that are not text.
std::string joined_lines(const specs::Value& list, char delimiter, specs::fault_sink& faults);

std::vector<std::string> split_lines(std::string_view text, char delimiter);

}  // namespace flowrun::runner
