// Values that are missing in a CSV file: which fields say so, and what their columns become. Rows have no NULLs
// (decision D14): a missing value is a default, or zero or empty, and a column of its own tells where it was missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/node_checker.h"
#include "engine/plan/operator_declaration.h"
#include "engine/record/row_type.h"
#include "operators/parts/text/csv_times.h"

namespace flowrun::operators {

struct csv_missing {
  struct column {
    bool allowed = false;             // a missing value is no fault
    bool has_default = false;         // it becomes what the job says
    std::optional<size_t> told_by{};  // the offset in the row of the bool that says whether it is missing
  };
  std::vector<std::string> texts;      // of fields that are missing values; empty: there are none
  std::vector<column> columns;         // of the type that the fields have
  std::vector<std::byte> values;       // a row of that type: what the columns become
  std::string default_texts;           // that the strings in `values` lie in
  bool any_number = false;             // one of `texts` is a number of digits
  bool any_empty = false;              // one of them is empty
  std::vector<std::string> told_by{};  // the names of the columns that are added

  bool any() const { return !texts.empty(); }
  // `field` without quotes.
  bool is_missing(std::string_view field) const {
    for (const std::string& text : texts)
      if (text == field) return true;
    return false;
  }
};

// `null_values`, `default` and `missing`.
std::vector<plan::parameter_declaration> csv_missing_parameters();

// Only `default` and `missing`, for files that say by themselves where a value is missing.
std::vector<plan::parameter_declaration> missing_column_parameters();

// Reads them for a node whose fields have `type` and these forms; reports what is wrong.
csv_missing read_csv_missing(plan::node_checker& node, const record::row_type& type, const csv_times& times);
csv_missing read_missing_columns(plan::node_checker& node, const record::row_type& type, const csv_times& times);

// `type`, and behind it the columns that tell what was missing.
record::row_type with_told_columns(const record::row_type& type, const csv_missing& missing);

}  // namespace flowrun::operators
