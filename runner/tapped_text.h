// Rows that were copied from a running job (exec/row_tap.h), as text.
#pragma once

#include <string>

#include "engine/exec/row_tap.h"

namespace flowrun::runner {

enum class row_format { csv, json };

// The names of the columns as a line of CSV.
std::string csv_header(const record::row_type& type);
// A line of CSV, or an object of JSON, for each row. Throws error(bad_data) for text that JSON can't have.
std::string text_of(const exec::tapped_rows& rows, const record::row_type& type, row_format format);

}  // namespace flowrun::runner
