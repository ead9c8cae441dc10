#include "operators/parts/text/csv_columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/excerpt.h"
#include "engine/base/fault.h"
#include "operators/parts/text/csv_header.h"
#include "operators/parts/text/csv_value.h"

namespace flowrun::operators {

std::vector<plan::parameter_declaration> csv_column_parameters() {
  std::vector<plan::parameter_declaration> out(3);
  out[0].name = "header";
  out[0].kind = plan::parameter_kind::boolean;
  out[0].default_text = "false";
  out[0].help =
      "The first line of each file is a header: it must name the columns of `type`, in order, and is skipped. With "
      "`columns: header` there is one in any case.";
  out[1].name = "columns";
  out[1].kind = plan::parameter_kind::choice;
  out[1].choices = {"position", "header"};
  out[1].default_text = "position";
  out[1].help =
      "header: the first line of each file names its columns; those of `type` are taken by name, in whatever order the "
      "file has them, and all others are skipped.";
  out[2].name = "names";
  out[2].kind = plan::parameter_kind::column_texts;
  out[2].help =
      "With `columns: header`: what the header calls a column of `type`, such as {amount: \"Amount (EUR)\"}; else it "
      "has the column's name.";
  return out;
}

csv_columns read_csv_columns(plan::node_checker& node, const record::row_type& type) {
  csv_columns out;
  out.by_header = node.text("columns") == "header";
  out.header = out.by_header || node.boolean("header");
  if (out.by_header && node.has("header") && !node.boolean("header"))
    node.fault_at_parameter("header", "`columns: header` takes the columns by the header's names, so there is one",
                            "header: true, or no `header`");
  out.names = type.names();
  if (!out.by_header) {
    if (node.has("names"))
      node.fault_at_parameter("names", "`names` says what the header calls a column, but the columns go by position",
                              "columns: header");
    return out;
  }
  out.names = read_header_names(node, type);
  return out;
}

std::vector<std::string> read_header_names(plan::node_checker& node, const record::row_type& type) {
  std::vector<std::string> out = type.names();
  for (const auto& [column, name] : node.column_texts("names", type)) out[*type.index_of(column)] = name;
  for (size_t i = 0; i < out.size(); ++i) {
    const auto earlier = static_cast<size_t>(std::find(out.begin(), out.end(), out[i]) - out.begin());
    if (earlier == i) continue;
    const std::string later = type[i].name == out[i] ? type[earlier].name : type[i].name;  // it has a name here
    node.fault_at_parameter("names." + later,
                            fmt::format("the columns '{}' and '{}' would both be {} of the header", type[earlier].name,
                                        type[i].name, quoted_excerpt(out[i])),
                            "a name for each column; map gives a column a second name");
  }
  return out;
}

std::shared_ptr<const csv_layout> look_at_header(const csv_columns& columns, const std::string& path,
                                                 std::string_view record, const record::row_type& type,
                                                 const csv_format& format) {
  if (columns.by_header)
    return std::make_shared<const csv_layout>(layout_by_header(path, record, columns.names, format, type.names()));
  check_csv_header(path, record, type, format);
  return nullptr;
}

plan::row_estimate with_texts_of(const plan::row_estimate& rows, std::string_view sample, uint64_t total_bytes,
                                 const csv_columns& columns, const record::row_type& type, const csv_format& format) {
  const auto is_string = [&type](const csv_layout::taken_field& f) { return type[f.column].type.is_string(); };
  if (sample.starts_with(byte_order_mark)) sample.remove_prefix(byte_order_mark.size());
  const char* p = sample.data();
  const char* const end = p + sample.size();
  p = record_end(p, end, format);
  csv_layout layout;
  try {
    layout = layout_by_header({}, {sample.data(), p}, columns.names, format);
  } catch (const error&) {
    return rows;  // the file's faults are told before the run
  }
  uint64_t text_bytes = 0;
  const char* const first = p;
  while (p != end) {
    const char* const behind = record_end(p, end, format);
    const std::vector<std::string> fields = fields_of_record({p, behind}, format);
    for (const csv_layout::taken_field& f : layout.taken)
      if (is_string(f) && f.field < fields.size()) text_bytes += fields[f.field].size();
    p = behind;
  }
  if (first == end) return rows;
  plan::row_estimate out = rows;
  const double share = static_cast<double>(text_bytes) / static_cast<double>(end - first);
  out.num_bytes = std::min(
      rows.rows * type.row_bytes() + static_cast<uint64_t>(share * static_cast<double>(total_bytes)), rows.most_bytes);
  return out;
}

}  // namespace flowrun::operators
