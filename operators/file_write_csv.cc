// file.write_csv: rows as text.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "engine/base/excerpt.h"
#include "engine/base/fault.h"
#include "operators/parts/files/file_sink.h"
#include "operators/parts/text/csv_columns.h"
#include "operators/parts/text/csv_formatter.h"
#include "operators/parts/text/csv_settings.h"
#include "operators/parts/text/csv_value.h"
#include "operators/parts/text/written_missing.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

struct settings {
  written_file to;
  csv_format format;
  written_missing columns;
  std::string null_text;
  bool header = false;
  std::vector<std::string> names;  // in the header
};

// Before a row is written: what can't be written without quotes.
void check_texts(plan::node_checker& node, const settings& s) {
  const csv_formatter formatter(s.columns, s.format, s.null_text);
  if (node.has("null_text") && !node.has("missing"))
    node.fault_at_parameter("null_text",
                            "`null_text` is written for missing values, and nothing says which are missing",
                            "missing: {COLUMN: BOOL_COLUMN}");
  if (formatter.needs_quotes(s.null_text, 0))
    node.fault_at_parameter(
        "null_text",
        fmt::format("{} would need quotes, and in these it is a text like others", quoted_excerpt(s.null_text)),
        "a text without the delimiter, quotes and line ends, such as NULL");
  std::array<std::byte, 16> value{};  // as long as a number or a time may be, and longer
  for (const record::column& c : s.columns.columns)
    if (!c.type.is_text() && parse_value(c.type, s.null_text, value.data())) {
      node.fault_at_parameter("null_text",
                              fmt::format("{} is also a value of the column '{}', which is {}",
                                          quoted_excerpt(s.null_text), c.name, record::to_string(c.type)),
                              "a text that no number or time of the file can be, such as NULL");
      break;
    }
  if (!s.header && node.has("names"))
    node.fault_at_parameter("names", "`names` says what the header calls a column, and there is no header",
                            "header: true");
  for (size_t i = 0; i < s.names.size() && s.header && !s.format.quote; ++i)
    if (formatter.needs_quotes(s.names[i], i))
      node.fault_at_parameter("names." + s.columns.columns[i].name,
                              fmt::format("{} can't be written without quotes", quoted_excerpt(s.names[i])),
                              "a name without the delimiter and line ends, or leave `quote` out");
}

settings check(plan::node_checker& node) {
  settings s;
  s.to = read_written_file(node);
  s.format = read_csv_format(node);
  s.columns = read_written_missing(node, s.to.columns(node.input_type()));
  s.null_text = node.text("null_text");
  s.header = node.boolean("header");
  s.names = read_header_names(node, record::row_type(s.columns.columns));
  if (node.ok()) check_texts(node, s);
  return s;
}

exec::assembly build(exec::build_context& c, const settings& s) {
  const csv_formatter formatter(s.columns, s.format, s.null_text);
  std::string prologue = s.header ? formatter.header(s.names) : std::string();
  exec::assembly out;
  out.stages = write_text(c, s.to, formatting_by(formatter), std::move(prologue));
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"file_write_csv">() {
  using plan::parameter_kind;
  plan::operator_declaration d;
  d.name = "file.write_csv";
  d.summary = "Writes rows as text, one a line, with a delimiter between the fields.";
  d.details =
      "Fields are quoted as in RFC 4180, and only those that contain the delimiter, the quote or a line end, and those "
      "of the first column that begin as a byte order mark or a compressed file does; lines end with \\n"
      ". Floats have the fewest digits that read back as the same value; a bool is true or false; bytes[N] are written "
      "as they are. With `quote: \"\"` a field that needs quotes ends the job. The file appears under its name when "
      "the whole job has succeeded.\n\n"
      "Rows have no NULLs: where the bool column that `missing` names is true, the field is `null_text`, and a text of "
      "the same bytes stands in quotes. file.read_csv with the same `missing` and with that text in `null_values` "
      "reads the rows as they were.";
  d.details += partitions_details;
  d.order = "keeps: lines are written in the order of the input";
  d.example = "write: {op: file.write_csv, in: top, with: {path: out/degree.csv, header: true}}\n";
  d.role = plan::operator_role::sink;
  d.division = plan::operator_division::pieces;
  d.work_per_byte = 4;
  d.inputs = {{"in", "the rows"}};
  d.parameters = written_file_parameters();
  d.parameters.push_back(path_columns_parameter());
  plan::parameter_declaration& header = d.parameters.emplace_back();
  header.name = "header";
  header.kind = parameter_kind::boolean;
  header.default_text = "false";
  header.help = "The first line, of each file, names the columns.";
  plan::parameter_declaration& names = d.parameters.emplace_back();
  names.name = "names";
  names.kind = parameter_kind::column_texts;
  names.help =
      "With `header: true`: what the header calls a column, such as {amount: \"Amount (EUR)\"}; else it has the "
      "column's name.";
  d.parameters.push_back(written_missing_parameter("`null_text`"));
  plan::parameter_declaration& null_text = d.parameters.emplace_back();
  null_text.name = "null_text";
  null_text.kind = parameter_kind::text;
  null_text.help = "The field of a value that is missing, such as NULL; nothing unless it is given.";
  for (plan::parameter_declaration& p : csv_parameters()) d.parameters.push_back(std::move(p));
  d.memory = [](const plan::node& n, plan::node_part) { return writing_memory(n, n.settings.as<settings>().to); };
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
