#include "operators/parts/text/csv_missing.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/expr/expression.h"
#include "engine/record/batch.h"
#include "operators/parts/text/csv_value.h"
#include "specs/value.h"

namespace flowrun::operators {

namespace {

// All defaults of a node lie in each of its batches.
constexpr size_t most_default_bytes = 4096;

void read_defaults(plan::node_checker& node, const record::row_type& type, const csv_times& times, csv_missing& out) {
  for (const auto& [name, text] : node.column_texts("default", type)) {
    const size_t i = *type.index_of(name);
    std::byte* const at = out.values.data() + type[i].offset;
    out.columns[i].allowed = true;
    out.columns[i].has_default = true;
    if (type[i].type.is_string()) {
      const record::string_ref ref{static_cast<uint32_t>(out.default_texts.size()), static_cast<uint32_t>(text.size())};
      std::memcpy(at, &ref, sizeof ref);
      out.default_texts += text;
    } else if (!(times.has(i) ? times.parse(i, type[i].type, text, at) : parse_value(type[i].type, text, at))) {
      const std::string why = times.has(i) ? times.refusal(i, type[i].type, text) : refusal(type[i].type, text);
      node.fault_at_parameter("default." + name, fmt::format("the default of '{}': {}", name, why),
                              "a value as a field of the file would have it");
    }
  }
  if (out.default_texts.size() > most_default_bytes)
    node.fault_at_parameter("default", fmt::format("the defaults have {} bytes of text", out.default_texts.size()),
                            fmt::format("at most {} bytes, all together", most_default_bytes));
}

void read_told_columns(plan::node_checker& node, const record::row_type& type, csv_missing& out) {
  size_t offset = type.row_bytes();
  for (const auto& [name, told_by] : node.column_texts("missing", type)) {
    csv_missing::column& column = out.columns[*type.index_of(name)];
    column.allowed = true;
    column.told_by = offset++;
    const std::string at = "missing." + name;
    if (!specs::is_column_name(told_by) || expr::is_reserved_word(told_by))
      node.fault_at_parameter(at, fmt::format("'{}' can't name a column", told_by),
                              "a letter or _, then letters, digits and _");
    else if (type.index_of(told_by) || std::find(out.told_by.begin(), out.told_by.end(), told_by) != out.told_by.end())
      node.fault_at_parameter(at, fmt::format("the rows have a column '{}' already", told_by),
                              fmt::format("a name for the column that tells where '{}' is missing", name));
    out.told_by.push_back(told_by);
  }
}

}  // namespace

std::vector<plan::parameter_declaration> csv_missing_parameters() {
  std::vector<plan::parameter_declaration> out(1);
  out[0].name = "null_values";
  out[0].kind = plan::parameter_kind::texts;
  out[0].help =
      "Fields with one of these texts are missing values, such as [\"\", \"NA\"]. A string or bytes[N] keeps such a "
      "text in quotes, and where its column has neither `default` nor `missing`.";
  for (plan::parameter_declaration& p : missing_column_parameters()) out.push_back(std::move(p));
  return out;
}

std::vector<plan::parameter_declaration> missing_column_parameters() {
  std::vector<plan::parameter_declaration> out(2);
  out[0].name = "default";
  out[0].kind = plan::parameter_kind::column_texts;
  out[0].help = "The value of a column where it is missing, as a field would have it: {amount: 0, name: unknown}.";
  out[1].name = "missing";
  out[1].kind = plan::parameter_kind::column_texts;
  out[1].help =
      "Adds a bool column that tells whether a column's value is missing, by its name: {amount: amount_missing}. "
      "Without a default the value is then zero or empty.";
  return out;
}

csv_missing read_csv_missing(plan::node_checker& node, const record::row_type& type, const csv_times& times) {
  const std::vector<std::string> texts = node.texts("null_values");
  for (const char* const parameter : {"default", "missing"})
    if (texts.empty() && node.has(parameter))
      node.fault_at_parameter(
          parameter, fmt::format("`{}` is about missing values, and nothing says which fields are missing", parameter),
          "null_values: [\"\"], say");
  csv_missing out = read_missing_columns(node, type, times);
  out.texts = texts;
  for (const std::string& text : out.texts) {
    out.any_empty = out.any_empty || text.empty();
    out.any_number = out.any_number || (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos);
  }
  return out;
}

csv_missing read_missing_columns(plan::node_checker& node, const record::row_type& type, const csv_times& times) {
  csv_missing out;
  out.columns.resize(type.num_columns());
  out.values.resize(type.row_bytes());
  read_defaults(node, type, times, out);
  read_told_columns(node, type, out);
  return out;
}

record::row_type with_told_columns(const record::row_type& type, const csv_missing& missing) {
  if (missing.told_by.empty()) return type;
  std::vector<record::column> columns(type.columns().begin(), type.columns().end());
  for (const std::string& name : missing.told_by)
    columns.push_back({name, record::value_type::of(record::type_kind::boolean)});
  return record::row_type(std::move(columns));
}

}  // namespace flowrun::operators
