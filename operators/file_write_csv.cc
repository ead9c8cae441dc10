// file.write_csv: rows as text.
#include <utility>

#include "operators/parts/files/file_sink.h"
#include "operators/parts/text/csv_formatter.h"
#include "operators/parts/text/csv_settings.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

struct settings {
  written_file to;
  csv_format format;
  bool header = false;
};

settings check(plan::node_checker& node) {
  return {read_written_file(node), read_csv_format(node), node.boolean("header")};
}

exec::assembly build(exec::build_context& c, const settings& s) {
  const csv_formatter formatter(s.to.columns(c.input_type()), s.format);
  std::string prologue = s.header ? formatter.header() : std::string();
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
      "Fields are quoted as in RFC 4180, and only those that contain the delimiter, the quote or a line end; lines end "
      "with \\n. "
      "Floats have the fewest digits that read back as the same value; a bool is true or false; bytes[N] are written "
      "as they "
      "are. With `quote: \"\"` a field that needs quotes ends the job. The file appears under its name when the whole "
      "job has "
      "succeeded.";
  d.details += partitions_details;
  d.order = "keeps: lines are written in the order of the input";
  d.example = "write: {op: file.write_csv, in: top, with: {path: out/degree.csv, header: true}}\n";
  d.role = plan::operator_role::sink;
  d.inputs = {{"in", "the rows"}};
  d.parameters = written_file_parameters();
  d.parameters.push_back(path_columns_parameter());
  plan::parameter_declaration& header = d.parameters.emplace_back();
  header.name = "header";
  header.kind = parameter_kind::boolean;
  header.default_text = "false";
  header.help = "The first line, of each file, names the columns.";
  for (plan::parameter_declaration& p : csv_parameters()) d.parameters.push_back(std::move(p));
  d.memory = [](const plan::node& n, plan::node_part) { return writing_memory(n, n.settings.as<settings>().to); };
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
