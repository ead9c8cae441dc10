// Whether the first line of a CSV file names the columns that the job expects, in that order. A file whose columns
// were swapped would else be read without a complaint, as long as their types agree. It is looked at before the first
// phase, where that takes nothing from the file, and again when the file is read.
#pragma once

#include <string>
#include <string_view>

#include "engine/record/row_type.h"
#include "operators/parts/text/text_scan.h"

namespace flowrun::operators {

// `record` is the first record of the file `path`, with its line end or without. Throws error(bad_data) when its fields
// are not the names of `type`.
void check_csv_header(const std::string& path, std::string_view record, const record::row_type& type,
                      const csv_format& format);

// The same for the file as it lies there. A file without a byte has no header, and one whose header is longer than any
// that a person writes is left to the run.
void check_csv_header_of(const std::string& path, const record::row_type& type, const csv_format& format);

}  // namespace flowrun::operators
