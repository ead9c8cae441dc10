// Whether the first line of a CSV file names the columns that the job expects, in that order. A file whose columns
// were swapped would else be read without a complaint, as long as their types agree.
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

}  // namespace flowrun::operators
