// Dates and timestamps of a CSV file that are written in a form of its own, as `format` says.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/time_format.h"
#include "engine/plan/node_checker.h"
#include "engine/plan/operator_declaration.h"
#include "engine/record/row_type.h"

namespace flowrun::operators {

struct csv_times {
  struct form {
    std::string pattern;
    calendar::time_format reader;
  };
  std::vector<std::optional<form>> columns;  // of the type that the fields have; empty: none has a form

  bool any() const { return !columns.empty(); }
  bool has(size_t column) const { return column < columns.size() && columns[column]; }
  // As parse_value (csv_value.h), for a column that has a form, of type `type`.
  bool parse(size_t column, record::value_type type, std::string_view field, std::byte* to) const;
  // Why it refuses the field: `expected date in the form "%d.%m.%Y", got "x"`.
  std::string refusal(size_t column, record::value_type type, std::string_view field) const;
};

// `format`.
plan::parameter_declaration csv_times_parameter();

// Reads it for a node whose fields have `type`; reports what is wrong.
csv_times read_csv_times(plan::node_checker& node, const record::row_type& type);

}  // namespace flowrun::operators
