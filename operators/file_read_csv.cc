// file.read_csv: text with delimiters into typed rows.
//
// A serial head cuts the text at line ends outside quotes (text_cutter.h), the stage behind (parse_stage.h) parses
// pieces in parallel (csv_parser.h), and what becomes of malformed lines is settled once for all pieces
// (rejection_tally.h).
#include <algorithm>
#include <filesystem>
#include <utility>

#include "engine/base/error.h"
#include "operators/parts/files/file_input.h"
#include "operators/parts/text/byte_range.h"
#include "operators/parts/text/csv_advice.h"
#include "operators/parts/text/csv_columns.h"
#include "operators/parts/text/csv_header.h"
#include "operators/parts/text/csv_missing.h"
#include "operators/parts/text/csv_parser.h"
#include "operators/parts/text/csv_settings.h"
#include "operators/parts/text/csv_times.h"
#include "operators/parts/text/file_column.h"
#include "operators/parts/text/first_record.h"
#include "operators/parts/text/parse_stage.h"
#include "operators/parts/text/rejection_tally.h"
#include "operators/parts/text/text_source.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

using action = plan::node_checker::error_policy::action;

struct settings {
  std::vector<std::string> paths;
  input_facts inputs;
  byte_range range;
  record::row_type type;        // of the fields
  record::row_type read_type;   // and with the columns that tell what is missing
  record::row_type given_type;  // and with the file's name
  csv_format format;
  csv_columns columns;
  csv_times times;
  csv_missing missing;
  plan::node_checker::error_policy on_error;
};

settings read(plan::node_checker& node) {
  settings s;
  s.paths = node.paths("path");
  if (auto type = node.row_type("type")) s.type = *std::move(type);
  s.format = read_csv_format(node);
  s.columns = read_csv_columns(node, s.type);
  s.on_error = node.on_error();
  s.times = read_csv_times(node, s.type);
  s.missing = read_csv_missing(node, s.type, s.times);
  s.read_type = node.ok() ? with_told_columns(s.type, s.missing) : s.type;
  s.given_type = with_file_column(node, s.read_type);
  return s;
}

// The bytes of the shortest record: a byte that ends each field, and a digit for each number. Texts may be empty, and
// so may be what is missing.
uint64_t least_record_bytes(const settings& s) {
  uint64_t out = s.type.num_columns();
  for (size_t i = 0; i < s.type.num_columns(); ++i)
    if (!s.type[i].type.is_text() && !(s.missing.columns[i].allowed && s.missing.any_empty)) ++out;
  return out;
}

plan::row_estimate estimate(settings& s) {
  const std::string sample = s.columns.by_header ? s.inputs.beginning : std::string();
  plan::row_estimate out = rows_of_text(s.inputs, '\n', least_record_bytes(s), s.type);
  if (!sample.empty() && s.inputs.num_bytes)
    out = with_texts_of(out, sample, *s.inputs.num_bytes, s.columns, s.type, s.format);
  const uint64_t told_bytes = s.read_type.row_bytes() - s.type.row_bytes();
  out.num_bytes += out.rows * told_bytes;
  const uint64_t most_added = plan::bound_times(out.most_rows, told_bytes + s.missing.default_texts.size());
  out.most_bytes = plan::bound_plus(out.most_bytes, most_added);
  return out;
}

settings check(plan::node_checker& node) {
  settings s = read(node);
  const size_t port = s.on_error.what == action::to_port ? node.add_output(s.on_error.port) : 0;
  if (!node.ok()) return s;
  s.inputs = look_at_inputs(node, s.paths);
  s.range = read_byte_range(node, s.paths, s.inputs);
  if (!node.ok()) return s;
  const plan::row_estimate rows = estimate(s);
  if (port > 0) node.set_output(port, reject_type());
  node.set_output(0, s.given_type, {}, rows);
  return s;
}

// By the file's index. The head looks at a file's header before any piece of that file leaves it, and each layout is
// written once, so the stage that parses needs no lock.
using csv_layouts = std::vector<std::shared_ptr<const csv_layout>>;

rejection_words words_of(const settings& s) {
  rejection_words words;
  words.advise = [type = s.type, missing = s.missing, times = s.times, has_header = s.columns.header](
                     size_t column, std::string_view field) {
    const std::string on_name = has_header ? std::string() : advice_on_name(type[column], field);
    return on_name.empty() ? advice_on_field(type, column, field, missing, times) : on_name;
  };
  return words;
}

exec::assembly build(exec::build_context& c, const settings& s) {
  rejection_words words = words_of(s);
  const line_counter in_front = lines_in_front(s.paths, s.range, '\n');
  words.lines_in_front = in_front;
  auto tally = std::make_shared<rejection_tally>(s.on_error, s.paths, c.counters, std::move(words));
  cutter_options cutting = default_cutting(c, s.inputs);
  cutting.format = s.format;
  cutting.skip_byte_order_mark = true;
  cutting.skip_header = s.columns.header && s.range.from == 0;
  cutting.lines_in_front = in_front;
  auto layouts = std::make_shared<csv_layouts>(s.paths.size());
  cutting.on_header = [s, layouts](size_t file, const std::string& path, std::string_view record) {
    (*layouts)[file] = look_at_header(s.columns, path, record, s.type, s.format);
  };
  const auto on_header = cutting.on_header;
  const cutter_options limits = cutting;
  const size_t piece_bytes = cutting.piece_bytes;
  // With a byte order mark, its line end, and the byte behind that.
  const size_t header_bytes = byte_order_mark.size() + cutting.max_record_bytes + 3;
  exec::assembly out;
  out.head = make_text_source(c, s.paths, std::move(cutting), tally, s.range);
  if ((c.begin_at != nullptr || s.range.from > 0) && s.columns.by_header) {  // behind the header of that file
    const size_t file = beginning_at(c.begin_at).file;
    bool has_header = false;
    with_first_record_of(s.paths[file], s.format, header_bytes, [&](std::string_view record) {
      has_header = true;
      on_header(file, s.paths[file], record);
    });
    // Of a range, whose file isn't compressed. What goes on behind a kept place has had a header before.
    std::error_code ignored;
    if (!has_header && c.begin_at == nullptr && std::filesystem::file_size(s.paths[file], ignored) >= header_bytes)
      refuse_length(limits, s.paths[file], 1);
  }
  const auto parser = std::make_shared<const csv_parser>(s.read_type, s.format, s.missing, s.times);
  const auto parse = [parser, layouts = std::move(layouts), by_header = s.columns.by_header](
                         const text_to_parse& from, record::batch_pool& pool, std::vector<record::batch>& rows,
                         const record_rejecter& reject) {
    const csv_layout* const layout = (*layouts)[from.file].get();
    FLOWRUN_CHECK(layout != nullptr || !by_header);
    return parser->parse(from.text, from.first_line, pool, from.batch_bytes, rows, reject, from.most_bytes, layout);
  };
  out.stages.push_back(make_parse_stage({.paths = s.paths,
                                         .read_type = s.read_type,
                                         .given_type = s.given_type,
                                         .keep_rejects = s.on_error.what == action::to_port,
                                         .batch_bytes = piece_bytes,
                                         .lines_in_front = in_front},
                                        parse, std::move(tally), c.job.pool()));
  return out;
}

// The header, or the first row: where it doesn't fit, most often nothing does.
void look_into(const settings& s, const std::string& path) {
  if (!s.columns.header && (s.on_error.what != action::fail || s.range.from > 0)) return;
  with_first_record_of(path, s.format, usual_first_bytes, [&](std::string_view record) {
    if (s.columns.header) {
      look_at_header(s.columns, path, record, s.type, s.format);
      return;
    }
    record::batch_pool pool;
    std::vector<record::batch> rows;
    csv_parser(s.read_type, s.format, s.missing, s.times)
        .parse(
            record, 0, pool, record.size(), rows,
            [&](const malformed_record& bad) -> bool { throw malformed_text(path, bad, words_of(s)); },
            usual_first_bytes, nullptr);
  });
}

}  // namespace

template <>
exec::operator_definition word<"file_read_csv">() {
  plan::operator_declaration d;
  d.name = "file.read_csv";
  d.summary = "Reads text files with one row a line and a delimiter between the fields.";
  d.details =
      "Fields are quoted as in RFC 4180: a field that begins with the quote ends at the next single quote, two quotes "
      "stand for one, and delimiters and line ends within are part of it. Lines end with \\n or \\r\\n; the last one "
      "may lack it. A UTF-8 byte order mark is skipped.\n\n"
      "With `columns: header` the header of each file says which field is which column of `type`: names are compared "
      "byte for byte, blanks and all, and of several files each may have an order of its own. Fields that `type` "
      "doesn't name are skipped, whatever they hold, but each line must have as many fields as the header.\n\n"
      "`null_values` says which texts stand for a missing value, in all columns of `type`. Rows have no NULLs, so the "
      "columns say what becomes of a missing value. A column with a `default` gets the default. A column that "
      "`missing` names gets zero or empty text, or its default if it has one, and a bool column behind those of `type` "
      "is true. A column of texts with neither keeps the text of the field; for any other column the line is "
      "malformed. Quotes keep a text from being a missing value (\"\" is an empty string where an empty field is "
      "missing), but make no difference to a number or a bool.\n\n"
      "A line that is no row of `type` is malformed: a wrong number of fields, an integer that is no number or out of "
      "range, a bool other than true, false, 1 or 0, a date, timestamp or decimal that is none, a bytes[N] of another "
      "length. Blanks are not skipped. An empty line is a row only if the type is a single string. The first malformed "
      "line ends the job, unless `on_error: skip` drops such lines or `on_error: {to: PORT}` sends them to an output "
      "of that name, with the columns {text: string, line: u64, column: u32, reason: string}; file.write_lines then "
      "writes the text. `line` and `column` say where the fault is, which in a row of several lines may be behind its "
      "first one. With `max_ratio` the job fails once the whole input is read and more than that share of the lines "
      "was malformed.";
  d.order = "gives: nothing known; rows come in the order of the files";
  d.example =
      "edges:   {op: file.read_csv, with: {path: edges.txt, delimiter: \" \", type: {src: u64, dst: u64}}, "
      "on_error: {to: bad, max_ratio: 0.5}}\n"
      "rejects: {op: file.write_lines, in: edges.bad, with: {path: out/rejected.txt}}\n";
  d.role = plan::operator_role::source;
  d.division = plan::operator_division::files;
  d.work_per_byte = 4;
  d.outputs = {{"out", "the rows"}};
  d.has_error_port = true;
  d.parameters = {input_path_parameter(),
                  input_type_parameter(
                      "The columns in the order of the fields; with `columns: header` those to take, in any order.")};
  for (plan::parameter_declaration& p : csv_column_parameters()) d.parameters.push_back(std::move(p));
  for (plan::parameter_declaration& p : csv_parameters()) d.parameters.push_back(std::move(p));
  d.parameters.push_back(csv_times_parameter());
  for (plan::parameter_declaration& p : csv_missing_parameters()) d.parameters.push_back(std::move(p));
  d.parameters.push_back(byte_range_parameter());
  d.parameters.push_back(file_column_parameter());
  d.memory = [](const plan::node& n, plan::node_part) { return text_reading_memory(n.settings.as<settings>().inputs); };
  return exec::define<settings>(std::move(d), check, build, look_into);
}

}  // namespace flowrun::operators
