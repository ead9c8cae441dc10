// Values that a sink of text writes as missing, since a bool column of their row says so: the other way of `missing` of
// the sources (csv_missing.h).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "engine/plan/node_checker.h"
#include "engine/plan/operator_declaration.h"
#include "engine/record/row_type.h"

namespace flowrun::operators {

struct written_missing {
  std::vector<record::column> columns;           // that are written: all but those that tell
  std::vector<std::optional<size_t>> told_by{};  // of these, the offset in the row of the bool that says so

  // Of the column of this number.
  bool is_missing(size_t column, const std::byte* row) const {
    return column < told_by.size() && told_by[column] && row[*told_by[column]] != std::byte{0};
  }
  bool tells(size_t column) const { return column < told_by.size() && told_by[column]; }
};

// `missing`; `written`: what becomes of such a value.
plan::parameter_declaration written_missing_parameter(const std::string& written);

// Reads it for a sink of these columns of its input; reports what is wrong.
written_missing read_written_missing(plan::node_checker& node, const std::vector<record::column>& columns);

}  // namespace flowrun::operators
