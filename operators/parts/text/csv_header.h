// Whether the first line of a CSV file names the columns that the job expects, in that order. A file whose columns
// were swapped would else be read without a complaint, as long as their types agree. It is looked at before the first
// phase, where that takes nothing from the file, and again when the file is read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/record/row_type.h"
#include "operators/parts/text/text_scan.h"

namespace flowrun::operators {

// `record` is the first record of the file `path`, with its line end or without. Throws error(bad_data) when its fields
// are not the names of `type`.
void check_csv_header(const std::string& path, std::string_view record, const record::row_type& type,
                      const csv_format& format);

// The fields of a record, with its line end or without (csv_record.h). Text after a closing quote is kept, so that the
// field can't equal a name.
std::vector<std::string> fields_of_record(std::string_view record, const csv_format& format);

// What to say of a header whose names another delimiter would part: `say delimiter: ";", ` Empty where none does.
std::string advice_on_delimiter(std::string_view record, const std::vector<std::string>& wanted,
                                const csv_format& format);

// "a, b, c": names as they are, everything else quoted and shortened; "…" behind the first few.
std::string listed_names(const std::vector<std::string>& names);

}  // namespace flowrun::operators
