// file.write_rows: packed rows as they are, the counterpart of file.read_rows.
#include <fmt/format.h>

#include <utility>

#include "operators/file_sink.h"
#include "operators/registry.h"

namespace flowrun::operators {

namespace {

void check(plan::node_checker& node) {
  for (const record::column& c : node.input_type().columns())
    if (c.type.is_string())
      node.fault_at_input(
          0, fmt::format("column '{}' of '{}' is a string, which has no fixed width", c.name, node.input_name(0)),
          "columns of fixed width",
          fmt::format("write text with file.write_csv, or leave '{}' out with a map", c.name));
}

exec::assembly build(exec::build_context& c) {
  exec::assembly out;
  out.stages.push_back(make_file_sink(c, c.params.text("path"), sink_content::rows));
  return out;
}

exec::operator_definition define() {
  plan::operator_declaration d;
  d.name = "file.write_rows";
  d.summary = "Writes packed rows to a binary file.";
  d.details =
      "Rows lie one after another, in the order of the columns, little endian, without padding; file.read_rows, NumPy "
      "(structured dtype) and a packed C struct read them. The file appears under its name when the whole job has "
      "succeeded.";
  d.order = "keeps: rows are written in the order of the input";
  d.example = "write: {op: file.write_rows, in: sorted, with: {path: out/edges.u32x2}}\n";
  d.role = plan::operator_role::sink;
  d.inputs = {{"in", "the rows; no strings"}};
  d.parameters.resize(1);
  d.parameters[0].name = "path";
  d.parameters[0].kind = plan::parameter_kind::path;
  d.parameters[0].required = true;
  d.parameters[0].help = "The file; - is standard output. Missing directories are made.";
  d.check = check;
  d.memory = [](const plan::node&, int) { return writing_memory(); };
  return {std::move(d), build};
}

}  // namespace

const exec::operator_definition& file_write_rows_operator() {
  static const exec::operator_definition definition = define();
  return definition;
}

}  // namespace flowrun::operators
