// file.read_json_lines: an object a line into typed rows.
//
// A serial head cuts the text at line ends (text_cutter.h), the stage behind (parse_stage.h) parses pieces in parallel
// (json_parser.h), and what becomes of malformed lines is settled once for all pieces (rejection_tally.h).
#include <algorithm>
#include <utility>

#include "operators/parts/files/file_input.h"
#include "operators/parts/text/byte_range.h"
#include "operators/parts/text/csv_missing.h"
#include "operators/parts/text/csv_times.h"
#include "operators/parts/text/file_column.h"
#include "operators/parts/text/first_record.h"
#include "operators/parts/text/json_layout.h"
#include "operators/parts/text/json_parser.h"
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
  record::row_type type;        // of the values
  record::row_type read_type;   // and with the columns that tell what is missing
  record::row_type given_type;  // and with the file's name
  json_layout layout;
  bool skip_others = false;
  csv_times times;
  csv_missing missing;
  plan::node_checker::error_policy on_error;
};

settings read(plan::node_checker& node) {
  settings s;
  s.paths = node.paths("path");
  if (auto type = node.row_type("type")) s.type = *std::move(type);
  s.layout = read_json_layout(node, s.type);
  s.skip_others = node.text("other_keys") == "skip";
  s.on_error = node.on_error();
  s.times = read_csv_times(node, s.type);
  s.missing = read_missing_columns(node, s.type, s.times);
  s.read_type = node.ok() ? with_told_columns(s.type, s.missing) : s.type;
  s.given_type = with_file_column(node, s.read_type);
  return s;
}

std::shared_ptr<const json_parser> parser_of(const settings& s) {
  return std::make_shared<const json_parser>(s.read_type, s.layout, s.skip_others, s.missing, s.times);
}

// The lines of a sample tell how much of the text becomes texts of rows.
plan::row_estimate estimate(settings& s) {
  const auto parser = parser_of(s);
  const std::string sample = s.inputs.beginning;
  const auto is_string = [](const record::column& c) { return c.type.is_string(); };
  plan::row_estimate out = rows_of_text(s.inputs, '\n', parser->least_line_bytes(), s.read_type);
  const std::string_view lines = std::string_view(sample).substr(0, sample.rfind('\n') + 1);
  if (!lines.empty() && s.inputs.num_bytes &&
      std::any_of(s.type.columns().begin(), s.type.columns().end(), is_string)) {
    record::batch_pool pool;
    std::vector<record::batch> rows;
    parser->parse(lines, 0, false, pool, lines.size(), rows, [](const malformed_record&) { return true; });
    uint64_t text_bytes = 0;
    for (const record::batch& b : rows) text_bytes += b.heap_bytes - s.missing.default_texts.size();
    const double share = static_cast<double>(text_bytes) / static_cast<double>(lines.size());
    out.num_bytes = std::min(
        out.rows * s.read_type.row_bytes() + static_cast<uint64_t>(share * static_cast<double>(*s.inputs.num_bytes)),
        out.most_bytes);
  }
  out.most_bytes = plan::bound_plus(out.most_bytes, plan::bound_times(out.most_rows, s.missing.default_texts.size()));
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

exec::assembly build(exec::build_context& c, const settings& s) {
  const line_counter in_front = lines_in_front(s.paths, s.range, '\n');
  rejection_words words;
  words.lines_in_front = in_front;
  words.check = "check `type`, `names` and `other_keys`, mend the input";
  auto tally = std::make_shared<rejection_tally>(s.on_error, s.paths, c.counters, words);
  cutter_options cutting = default_cutting(c, s.inputs, json_parser::copies_of_a_line);
  cutting.skip_byte_order_mark = true;
  cutting.lines_in_front = in_front;
  cutting.padding_bytes = json_parser::padding_bytes;
  const size_t piece_bytes = cutting.piece_bytes;
  exec::assembly out;
  out.head = make_text_source(c, s.paths, std::move(cutting), tally, s.range);
  const auto parse = [parser = parser_of(s)](const text_to_parse& from, record::batch_pool& pool,
                                             std::vector<record::batch>& rows, const record_rejecter& reject) {
    return parser->parse(from.text, from.first_line, from.is_padded, pool, from.batch_bytes, rows, reject,
                         from.most_bytes);
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

// The first line shows a file that is something else, a single array, say.
void look_into(const settings& s, const std::string& path) {
  if (s.on_error.what != action::fail || s.range.from > 0) return;
  with_first_record_of(path, {'\0', std::nullopt}, usual_first_bytes, [&](std::string_view line) {
    record::batch_pool pool;
    std::vector<record::batch> rows;
    parser_of(s)->parse(line, 0, false, pool, line.size(), rows,
                        [&](const malformed_record& bad) -> bool { throw malformed_text(path, bad); });
  });
}

}  // namespace

template <>
exec::operator_definition word<"file_read_json_lines">() {
  using plan::parameter_kind;
  plan::operator_declaration d;
  d.name = "file.read_json_lines";
  d.summary = "Reads text files with one JSON object a line (JSON lines, NDJSON).";
  d.details =
      "Each line is an object whose keys, in any order, are the columns of `type`. Lines end with \\n"
      " or \\r\\n"
      "; the last one may lack it. Lines of nothing but blanks are no rows, and a UTF-8 byte order mark at the "
      "beginning of a file is skipped.\n\n"
      "Values must be of the column's type: a number for a number, true or false for a bool, a text for all others. An "
      "integer must be exact and within its range (1.0 and 1e3 are the integers 1 and 1000; 1.5 is none, and nothing "
      "is rounded, also beyond 2^53); a float takes the nearest value. A decimal has its digits from a number without "
      "an exponent, or from a text, as in file.read_csv. Texts give dates and timestamps as in file.read_csv, and "
      "bytes[N] from a text of N bytes in UTF-8.\n\n"
      "A key that is not there and a null are missing values. Rows have no NULLs, so the columns say what becomes of "
      "them. A column with a `default` gets the default. A column that `missing` names gets zero or empty text, or its "
      "default if it has one, and a bool column behind those of `type` is true. A missing value of any other column "
      "makes its line malformed.\n\n"
      "A line that is no row of `type` is malformed: one that isn't JSON in UTF-8 (also in what no column takes; texts "
      "with half of a surrogate pair are none), a value of another type, a key of a column that is there twice, "
      "objects and arrays nested deeper than 128, and a key that no column takes, unless `other_keys: skip` leaves "
      "those out. The first malformed line ends the job, unless `on_error: skip` drops such lines or `on_error: {to: "
      "PORT}` sends them to an output of that name, with the columns {text: string, line: u64, column: u32, reason: "
      "string}; file.write_lines then writes the text. With `max_ratio` the job fails once the whole input is read and "
      "more than that share of the lines was malformed.";
  d.order = "gives: nothing known; rows come in the order of the files";
  d.example =
      "events: {op: file.read_json_lines, with: {path: events.jsonl, type: {user: u64, action: string}, "
      "names: {user: user.id}, other_keys: skip}, on_error: {to: bad, max_ratio: 0.5}}\n"
      "rejects: {op: file.write_lines, in: events.bad, with: {path: out/rejected.jsonl}}\n";
  d.role = plan::operator_role::source;
  d.division = plan::operator_division::files;
  d.work_per_byte = 4;
  d.outputs = {{"out", "the rows"}};
  d.has_error_port = true;
  d.parameters = {input_path_parameter(), input_type_parameter("The columns, by the keys of the objects.")};
  d.parameters.push_back(json_names_parameter());
  plan::parameter_declaration& others = d.parameters.emplace_back();
  others.name = "other_keys";
  others.kind = parameter_kind::choice;
  others.choices = {"refuse", "skip"};
  others.default_text = "refuse";
  others.help =
      "What becomes of a line with keys that no column takes, in the record or in an object on the path of a column: "
      "it is malformed (refuse), or the keys and their values are left out (skip).";
  d.parameters.push_back(csv_times_parameter());
  for (plan::parameter_declaration& p : missing_column_parameters()) d.parameters.push_back(std::move(p));
  d.parameters.push_back(byte_range_parameter());
  d.parameters.push_back(file_column_parameter());
  d.memory = [](const plan::node& n, plan::node_part) {
    return text_reading_memory(n.settings.as<settings>().inputs, json_parser::copies_of_a_line);
  };
  return exec::define<settings>(std::move(d), check, build, look_into);
}

}  // namespace flowrun::operators
