#include "operators/parts/text/csv_times.h"

#include <fmt/format.h>

#include <cstring>

#include "engine/base/calendar.h"
#include "engine/base/excerpt.h"
#include "operators/parts/text/csv_value.h"

namespace flowrun::operators {

bool csv_times::parse(size_t column, record::value_type type, std::string_view field, std::byte* to) const {
  int64_t us = 0;
  if (!columns[column]->reader.parse(field, us)) return false;
  const int64_t number = type.is_date() ? calendar::day_of_us(us) : us;
  std::memcpy(to, &number, type.num_bytes);
  return true;
}

std::string csv_times::refusal(size_t column, record::value_type type, std::string_view field) const {
  return fmt::format("expected {} in the form \"{}\", got {}", to_string(type), columns[column]->pattern,
                     field.empty() ? "an empty field" : quoted_excerpt(field));
}

plan::parameter_declaration csv_times_parameter() {
  plan::parameter_declaration out;
  out.name = "format";
  out.kind = plan::parameter_kind::column_texts;
  out.help =
      "The form of dates and timestamps that are not written as 2026-11-23, as of strftime: {day: \"%d.%m.%Y\"}.";
  return out;
}

csv_times read_csv_times(plan::node_checker& node, const record::row_type& type) {
  csv_times out;
  for (const auto& [name, pattern] : node.column_texts("format", type)) {
    const std::string at = "format." + name;
    const size_t column = *type.index_of(name);
    if (!type[column].type.is_time()) {
      node.fault_at_parameter(at, fmt::format("'{}' is {}", name, to_string(type[column].type)),
                              "a column that is a date or a timestamp");
      continue;
    }
    auto made = calendar::time_format::of(pattern);
    if (const auto* no = std::get_if<calendar::time_format::fault>(&made)) {
      node.fault_at_parameter(at, fmt::format("in the form '{}': {}", pattern, no->message), no->expected);
      continue;
    }
    calendar::time_format reader = std::get<calendar::time_format>(std::move(made));
    if (const std::string why = reader.why_no_reading(); !why.empty()) {
      node.fault_at_parameter(at, fmt::format("'{}' can't be read with: {}", pattern, why),
                              "a form such as '%d.%m.%Y'");
      continue;
    }
    out.columns.resize(type.num_columns());
    out.columns[column] = csv_times::form{pattern, std::move(reader)};
  }
  return out;
}

}  // namespace flowrun::operators
