// What stands at the beginning of a text file, looked at before the first phase, where that takes nothing from the
// file: a header, or a line that shows that the file is something else.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "operators/parts/text/text_scan.h"

namespace flowrun::operators {

// Calls `look` for the first record of the file as it lies there, behind a byte order mark. A file without a byte has
// no record, and one whose first record is longer than `most_bytes` is left alone.
void with_first_record_of(const std::string& path, const csv_format& format, size_t most_bytes,
                          const std::function<void(std::string_view record)>& look);
// More than a person writes.
constexpr size_t usual_first_bytes = size_t{1} << 20;

}  // namespace flowrun::operators
