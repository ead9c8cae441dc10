// file.write_lines: one text column, one line a row, byte for byte.
#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <utility>

#include "engine/base/fault.h"
#include "operators/parts/files/file_sink.h"
#include "operators/parts/text/line_delimiter.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

// The column to write: the one named, else the only one of type string, else `text`. nullopt after a fault.
std::optional<size_t> find_column(plan::node_checker& node) {
  const record::row_type& type = node.input_type();
  if (node.has("column")) {
    const std::string name = node.text("column");
    const auto index = type.index_of(name);
    if (!index) {
      node.fault_at_parameter("column", fmt::format("'{}' has no column '{}'", node.input_name(0), name),
                              one_of(type.names()), did_you_mean(name, type.names()));
    } else if (!type[*index].type.is_text()) {
      node.fault_at_parameter("column", fmt::format("column '{}' is {}", name, to_string(type[*index].type)),
                              "a column of type string or bytes[N]",
                              "make text of it with string(…) in a map, or use file.write_csv");
      return std::nullopt;
    }
    return index;
  }
  std::vector<size_t> strings;
  for (size_t i = 0; i < type.num_columns(); ++i)
    if (type[i].type.is_string()) strings.push_back(i);
  if (strings.size() == 1) return strings[0];
  for (const size_t i : strings)
    if (type[i].name == "text") return i;
  if (type.num_columns() == 1 && type[0].type.is_bytes()) return 0;
  node.fault_at_input(0, fmt::format("it is not clear which column of {} is the line", to_string(type)),
                      strings.empty() ? "a column of type string" : "column: NAME",
                      strings.empty() ? "use file.write_csv" : fmt::format("say `column: {}`", type[strings[0]].name));
  return std::nullopt;
}

struct settings {
  written_file to;
  size_t column = 0;
  char delimiter = '\n';
};

settings check(plan::node_checker& node) {
  return {read_written_file(node), find_column(node).value_or(0), line_delimiter(node)};
}

std::string_view line_of(const record::column& column, const record::batch& in, size_t i) {
  const std::byte* const field = in.row(i) + column.offset;
  if (column.type.is_string()) return record::load_string(field, in.heap);
  return {reinterpret_cast<const char*>(field), column.type.num_bytes};
}

// As row_formatter says.
text_block format_lines(const record::column& column, char delimiter, const record::batch& in, record::batch_pool& pool,
                        uint64_t most_bytes, std::vector<size_t>* ends) {
  size_t num_rows = 0, num_bytes = 0;
  for (; num_rows < in.num_rows && (num_rows == 0 || num_bytes < most_bytes); ++num_rows) {
    num_bytes += line_of(column, in, num_rows).size() + 1;
    if (ends != nullptr) ends->push_back(num_bytes);
  }
  text_block text{pool.take(num_bytes), num_bytes, num_rows};
  std::byte* to = text.owner.get();
  for (size_t i = 0; i < num_rows; ++i) {
    const std::string_view l = line_of(column, in, i);
    if (!l.empty()) std::memcpy(to, l.data(), l.size());
    to += l.size();
    *to++ = static_cast<std::byte>(delimiter);
  }
  return text;
}

exec::assembly build(exec::build_context& c, const settings& s) {
  const auto format = [column = c.input_type()[s.column], delimiter = s.delimiter](
                          const record::batch& in, record::batch_pool& pool, uint64_t most_bytes,
                          std::vector<size_t>* ends) {
    return format_lines(column, delimiter, in, pool, most_bytes, ends);
  };
  exec::assembly out;
  out.stages = write_text(c, s.to, format);
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"file_write_lines">() {
  using plan::parameter_kind;
  plan::operator_declaration d;
  d.name = "file.write_lines";
  d.summary = "Writes one text column, each value as a line.";
  d.details =
      "Nothing is quoted: the bytes of the column, then the delimiter. The file appears under its name when the whole "
      "job has succeeded.";
  d.details += partitions_details;
  d.order = "keeps: lines are written in the order of the input";
  d.example = "rejects: {op: file.write_lines, in: edges.bad, with: {path: out/rejected.txt}}\n";
  d.role = plan::operator_role::sink;
  d.division = plan::operator_division::pieces;
  d.work_per_byte = 0.6;
  d.inputs = {{"in", "rows with a column of text"}};
  d.parameters = written_file_parameters();
  plan::parameter_declaration& column = d.parameters.emplace_back();
  column.name = "column";
  column.kind = parameter_kind::text;
  column.help = "The column to write; by default the only string, or else the one named text.";
  d.parameters.push_back(line_delimiter_parameter());
  d.memory = [](const plan::node& n, plan::node_part) { return writing_memory(n, n.settings.as<settings>().to); };
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
