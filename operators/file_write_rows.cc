// file.write_rows: packed rows as they are, the counterpart of file.read_rows.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "operators/parts/files/file_sink.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

struct settings {
  written_file to;
  bool index = false;
};

settings check(plan::node_checker& node) {
  settings s{read_written_file(node), node.boolean("index")};
  uint32_t row_bytes = 0;
  for (const record::column& c : s.to.columns(node.input_type())) {
    row_bytes += c.type.num_bytes;
    if (c.type.is_string())
      node.fault_at_input(
          0, fmt::format("column '{}' of '{}' is a string, which has no fixed width", c.name, node.input_name(0)),
          "columns of fixed width",
          s.to.partitions && contains(s.to.partitions->path.columns(), c.name)
              ? "path_columns: leave_out, since the path tells it; or write text with file.write_csv"
              : fmt::format("write text with file.write_csv, or leave '{}' out with a map", c.name));
  }
  if (s.to.content == io::encoding::plain) node.facts().written_row_bytes = row_bytes;
  if (!s.index) return s;
  node.facts().index.emplace().path = s.to.path;
  if (node.input_order().empty())
    node.fault_at_parameter("index", fmt::format("the rows of '{}' are not sorted", node.input_name(0)),
                            "sorted rows: others can't be sought", "put a sort in front of it");
  if (s.to.partitions)
    node.fault_at_parameter("index", "an index belongs to one file, and the path names columns",
                            "a path without columns", "leave index out, or sort by these columns and write one file");
  else if (s.to.path == "-" || s.to.path.starts_with("/dev/"))
    node.fault_at_parameter("index", "what is no file has none beside it", "a file", "path: NAME");
  else if (s.to.content != io::encoding::plain)
    node.fault_at_parameter("index", "in a compressed file no row can be sought", "a file that isn't compressed",
                            "compression: none, or a path without the ending");
  return s;
}

// The columns of a row that are written, as bytes that lie together.
struct byte_range {
  uint32_t from = 0, num_bytes = 0;
};
std::vector<byte_range> ranges_of(const std::vector<record::column>& columns) {
  std::vector<byte_range> out;
  for (const record::column& c : columns) {
    if (out.empty() || out.back().from + out.back().num_bytes != c.offset) out.push_back({c.offset, 0});
    out.back().num_bytes += c.type.num_bytes;
  }
  return out;
}

// As row_formatter says.
text_block copy_rows(const std::vector<byte_range>& ranges, const record::batch& in, record::batch_pool& pool,
                     uint64_t most_bytes, std::vector<size_t>* ends) {
  size_t row_bytes = 0;
  for (const byte_range& r : ranges) row_bytes += r.num_bytes;
  const size_t num_rows = std::min<uint64_t>(in.num_rows, std::max<uint64_t>(most_bytes / row_bytes, 1));
  text_block out{pool.take(num_rows * row_bytes), num_rows * row_bytes, num_rows};
  std::byte* to = out.owner.get();
  for (size_t i = 0; i < num_rows; ++i) {
    for (const byte_range& r : ranges) {
      std::memcpy(to, in.row(i) + r.from, r.num_bytes);
      to += r.num_bytes;
    }
    if (ends != nullptr) ends->push_back((i + 1) * row_bytes);
  }
  return out;
}

exec::assembly build(exec::build_context& c, const settings& s) {
  exec::assembly out;
  if (s.to.partitions) {
    const auto format = [ranges = ranges_of(s.to.columns(c.input_type()))](
                            const record::batch& in, record::batch_pool& pool, uint64_t most_bytes,
                            std::vector<size_t>* ends) { return copy_rows(ranges, in, pool, most_bytes, ends); };
    out.stages = write_text(c, s.to, format);
    return out;
  }
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
  d.details += partitions_details;
  d.order = "keeps: rows are written in the order of the input";
  d.example =
      "write: {op: file.write_rows, in: sorted, with: {path: out/edges.u32x2}}\n"
      "kept:  {op: file.write_rows, in: sorted, with: {path: out/sorted.u32x2, index: true}}\n";
  d.role = plan::operator_role::sink;
  d.division = plan::operator_division::pieces;
  d.inputs = {{"in", "the rows; no strings"}};
  d.parameters = written_file_parameters();
  d.parameters.push_back(path_columns_parameter());
  plan::parameter_declaration& index = d.parameters.emplace_back();
  index.name = "index";
  index.kind = plan::parameter_kind::boolean;
  index.default_text = "false";
  index.help = "Writes an index of the rows, which must be sorted, to PATH.index.";
  d.memory = [](const plan::node& n, plan::node_part) { return writing_memory(n, n.settings.as<settings>().to); };
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
