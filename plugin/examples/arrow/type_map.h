// Which column types of Arrow and of flowrun stand for each other.
//
// Reading: numbers, bool, texts, bytes and dates are what they are; timestamps of any unit become microseconds, with
// the zone left out, as they are UTC in the file; times of day and durations become the integers that they are stored
// as, in their own unit; decimals are those of the same scale, of at most 18 digits behind the point. Columns that have
// no counterpart (lists, structs) are refused with what to do instead. Writing: each type has one counterpart, the next
// wider one where Arrow has none as narrow.
#pragma once

#include <arrow/type.h>

#include <flowrun/plugin.hpp>
#include <memory>
#include <optional>
#include <string>

namespace columnar {

struct counterpart {
  std::optional<fr_type> type;
  std::string hint;  // where there is none: what to do instead
};

// What a column of the file becomes in rows.
counterpart row_type_of(const arrow::DataType& type);

// What makes microseconds of a timestamp in the file: value * multiply / divide, rounded down.
struct time_scale {
  int64_t multiply = 1, divide = 1;
};
time_scale scale_of(const arrow::DataType& type);

// What a column of rows becomes in the file; strings become utf8, or binary if the job says so;
// timestamps are UTC, and decimals have as many digits as 64 bits may have.
std::shared_ptr<arrow::DataType> file_type_of(fr_type type, bool text_is_utf8);

}  // namespace columnar
