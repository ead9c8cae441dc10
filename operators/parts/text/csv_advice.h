// What may mend a field of a CSV file, or of JSON lines, that has no value of its column: it may stand for a missing
// value, be a time in a form of its own, or name its column.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/record/row_type.h"
#include "operators/parts/text/csv_missing.h"
#include "operators/parts/text/csv_times.h"

namespace flowrun::operators {

// Of column number `column` of `type`, read with these settings. Empty where nothing is known but to mend the file.
std::string advice_on_field(const record::row_type& type, size_t column, std::string_view field,
                            const csv_missing& missing, const csv_times& times);

// Of a field where no header is expected. Empty where it doesn't name `column`.
std::string advice_on_name(const record::column& column, std::string_view field);

// What lets a column have missing values: "default: {x: 0} or missing: {x: x_missing}, …".
std::string way_to_allow(const record::column& column);

}  // namespace flowrun::operators
