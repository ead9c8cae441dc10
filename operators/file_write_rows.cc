// file.write_rows: packed rows as they are, the counterpart of file.read_rows.
#include <fmt/format.h>

#include <utility>

#include "operators/parts/files/file_sink.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

struct settings {
  written_file to;
  bool index = false;
};

settings check(plan::node_checker& node) {
  settings s{read_written_file(node), node.boolean("index")};
  for (const record::column& c : node.input_type().columns())
    if (c.type.is_string())
      node.fault_at_input(
          0, fmt::format("column '{}' of '{}' is a string, which has no fixed width", c.name, node.input_name(0)),
          "columns of fixed width",
          fmt::format("write text with file.write_csv, or leave '{}' out with a map", c.name));
  if (!s.index) return s;
  node.facts().index.emplace().path = s.to.path;
  if (node.input_order().empty())
    node.fault_at_parameter("index", fmt::format("the rows of '{}' are not sorted", node.input_name(0)),
                            "sorted rows: others can't be sought", "put a sort in front of it");
  if (s.to.path == "-" || s.to.path.starts_with("/dev/"))
    node.fault_at_parameter("index", "what is no file has none beside it", "a file", "path: NAME");
  else if (s.to.content != io::encoding::plain)
    node.fault_at_parameter("index", "in a compressed file no row can be sought", "a file that isn't compressed",
                            "compression: none, or a path without the ending");
  return s;
}

exec::assembly build(exec::build_context& c, const settings& s) {
  exec::assembly out;
  std::unique_ptr<row_index_builder> index;
  if (s.index) index = std::make_unique<row_index_builder>(c.input_type(), c.input_order());
  out.stages.push_back(make_file_sink(c, s.to, sink_content::rows, {}, std::move(index)));
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"file_write_rows">() {
  plan::operator_declaration d;
  d.name = "file.write_rows";
  d.summary = "Writes packed rows to a binary file.";
  d.details =
      "Rows lie one after another, in the order of the columns, little endian, without padding; file.read_rows, NumPy "
      "(structured dtype) and a packed C struct read them. The file appears under its name when the whole job has "
      "succeeded.\n\n"
      "`index: true` writes a second file, PATH.index, with the first row of every block of about 64 KiB: a join with "
      "skip then reads only those blocks of the file that it needs (file.read_rows, `index`).";
  d.order = "keeps: rows are written in the order of the input";
  d.example =
      "write: {op: file.write_rows, in: sorted, with: {path: out/edges.u32x2}}\n"
      "kept:  {op: file.write_rows, in: sorted, with: {path: out/sorted.u32x2, index: true}}\n";
  d.role = plan::operator_role::sink;
  d.inputs = {{"in", "the rows; no strings"}};
  d.parameters = written_file_parameters();
  plan::parameter_declaration& index = d.parameters.emplace_back();
  index.name = "index";
  index.kind = plan::parameter_kind::boolean;
  index.default_text = "false";
  index.help = "Writes an index of the rows, which must be sorted, to PATH.index.";
  d.memory = [](const plan::node& n, plan::node_part) {
    return writing_memory(n.settings.as<settings>().to, n.facts.index.has_value());
  };
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
