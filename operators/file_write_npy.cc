// file.write_npy: rows as an array of NumPy's. The header says how many there are, so it is written again when all
// others are on the disk (io/output_file.h), and the file appears under its name after that.
#include <fmt/format.h>

#include <utility>

#include "engine/base/error.h"
#include "engine/io/encoder.h"
#include "operators/parts/files/file_sink.h"
#include "operators/parts/files/npy_array.h"
#include "operators/parts/files/npy_header.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

struct settings {
  written_file to;
  bool structured = true;
};

void check_path(plan::node_checker& node, const std::string& path) {
  if (path == "-" || path.starts_with("/dev/std"))  // of what else is no file, the run says so
    node.fault_at_parameter("path",
                            "the beginning of a NumPy file says how many rows it has, which is known only at the "
                            "end: a pipe or device can't be written again",
                            "a file", "path: NAME.npy; or write rows without a header, with file.write_rows");
  else if (const io::encoding content = io::encoding_of_name(path); content != io::encoding::plain)
    node.fault_at_parameter(
        "path", fmt::format("NumPy maps files as they are, and the name says {}", io::name_of(content)),
        "a name without that ending", "path: NAME.npy; file.write_rows and file.write_csv write compressed files");
}

// Whether the array is structured.
bool check_array(plan::node_checker& node) {
  const record::row_type& type = node.input_type();
  const std::string array = node.text("array");
  if (array == "structured" || (array == "auto" && type.num_columns() > 1)) return true;
  for (const record::column& c : type.columns())
    if (npy_type_of(c.type) != npy_type_of(type[0].type)) {
      node.fault_at_parameter(
          "array",
          fmt::format("all elements of a plain array have one type, but '{}' is {} and '{}' is {}", type[0].name,
                      record::to_string(type[0].type), c.name, record::to_string(c.type)),
          "columns of one type", "say `array: structured`, or convert with a map");
      break;
    }
  return false;
}

settings check(plan::node_checker& node) {
  settings s;
  s.to.path =
      read_path_of_one(node, "the beginning of a NumPy file says how many rows it has, and one file is told that");
  check_path(node, s.to.path);
  for (const record::column& c : node.input_type().columns())
    if (c.type.is_string())
      node.fault_at_input(
          0, fmt::format("column '{}' of '{}' is a string, which has no fixed width", c.name, node.input_name(0)),
          "columns of fixed width",
          fmt::format("a map makes it one: {}: bytes({}, 32), for texts of 32 bytes and less", c.name, c.name));
  if (!node.ok()) return s;
  s.structured = check_array(node);
  if (node.ok() && npy_array(node.input_type(), s.structured).header(0).size() > most_npy_header_bytes)
    node.fault_at_input(0,
                        fmt::format("{} columns are more than a NumPy file can name", node.input_type().num_columns()),
                        "a header of at most 1 MiB", "leave some out with a map, or say `array: plain`");
  return s;
}

// Makes elements of rows whose bytes are not those of the array.
class element_stage final : public exec::stateless_stage {
 public:
  element_stage(npy_array array, std::string node, std::string path, record::batch_pool& pool)
      : array_(std::move(array)), node_(std::move(node)), path_(std::move(path)), pool_(pool) {}

  void apply(const record::batch& in, exec::output& out) const override {
    if (array_.first_without_time(in.rows, in.num_rows) < in.num_rows)
      throw error(error_kind::bad_data,
                  fmt::format("node '{}': {}: one of the timestamps is the least one there is, which NumPy takes for a "
                              "missing time (NaT)",
                              node_, path_),
                  "leave such rows out with a filter");
    text_block block;
    block.num_rows = in.num_rows;
    block.num_bytes = in.num_rows * array_.element_bytes();
    block.owner = pool_.take(block.num_bytes);
    array_.fill(in.rows, in.num_rows, block.owner.get());
    out.emit(parcel_of_text(std::move(block)));
  }

 private:
  const npy_array array_;
  const std::string node_;
  const std::string path_;
  record::batch_pool& pool_;
};

exec::assembly build(exec::build_context& c, const settings& s) {
  const npy_array array(c.input_type(), s.structured);
  const bool as_rows = array.is_rows() && !array.has_timestamps();
  exec::assembly out;
  if (!as_rows) out.stages.push_back(std::make_unique<element_stage>(array, c.node.id, s.to.path, c.job.pool()));
  out.stages.push_back(
      make_file_sink(c, s.to, as_rows ? sink_content::rows : sink_content::text, array.header(0), nullptr,
                     [array](uint64_t num_bytes) { return array.header(num_bytes / array.element_bytes()); }));
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"file_write_npy">() {
  using plan::parameter_kind;
  plan::operator_declaration d;
  d.name = "file.write_npy";
  d.summary = "Writes rows to a NumPy file (.npy).";
  d.details =
      "numpy.load reads the file, with mmap_mode='r' without a copy, and so does file.read_npy with the same `type`. "
      "Several columns become the fields of a structured array, one column an array of one dimension without fields. "
      "`array: plain` makes columns of one type an array of two dimensions, rows by columns.\n\n"
      "NumPy has no numbers of 24, 40 and 48 bits, which become u4, u8 and u8, and a date becomes a M8[D] of 64 bits; "
      "timestamp is M8[us], bytes[N] is S<N>, bool is b1, and a decimal[S] is its number of units, an i8. Strings have "
      "no fixed width: a map makes bytes[N] of them, with bytes(text, N). The file appears under its name when the "
      "whole job has succeeded. It is not compressed, and can't be standard output: its beginning says how many rows "
      "there are, which is known only at the end.";
  d.order = "keeps: rows are written in the order of the input";
  d.example =
      "write:  {op: file.write_npy, in: sorted, with: {path: out/edges.npy}}\n"
      "points: {op: file.write_npy, in: moved, with: {path: out/points.npy, array: plain}}\n";
  d.role = plan::operator_role::sink;
  d.division = plan::operator_division::pieces;
  d.inputs = {{"in", "the rows; no strings"}};
  d.parameters.resize(2);
  d.parameters[0].name = "path";
  d.parameters[0].kind = parameter_kind::path;
  d.parameters[0].names_columns = true;
  d.parameters[0].required = true;
  d.parameters[0].help = "The file. Missing directories are made. {{ and }} are braces.";
  d.parameters[1].name = "array";
  d.parameters[1].kind = parameter_kind::choice;
  d.parameters[1].choices = {"auto", "structured", "plain"};
  d.parameters[1].default_text = "auto";
  d.parameters[1].help =
      "structured: the columns are fields with their names. plain: they have no names, and one type. auto: plain for "
      "one column, else structured.";
  d.memory = [](const plan::node& n, plan::node_part) { return writing_memory(n, n.settings.as<settings>().to); };
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
