// file.write_json_lines: rows as JSON objects, one a line.
#include <utility>

#include "operators/parts/files/file_sink.h"
#include "operators/parts/text/json_formatter.h"
#include "operators/parts/text/json_layout.h"
#include "operators/parts/text/written_missing.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

struct settings {
  written_file to;
  written_missing columns;
  json_layout layout;
};

settings check(plan::node_checker& node) {
  written_file to = read_written_file(node);
  written_missing columns = read_written_missing(node, to.columns(node.input_type()));
  const record::row_type written(columns.columns);
  return {std::move(to), std::move(columns), read_json_layout(node, written)};
}

exec::assembly build(exec::build_context& c, const settings& s) {
  exec::assembly out;
  out.stages = write_text(c, s.to, formatting_by(json_formatter(s.columns, s.layout, c.node.id)));
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"file_write_json_lines">() {
  plan::operator_declaration d;
  d.name = "file.write_json_lines";
  d.summary = "Writes rows as JSON objects, one a line (JSON lines, NDJSON).";
  d.details =
      "The keys are the columns' names, in their order, without blanks between them; `names` gives other keys, and "
      "puts columns into objects, which stand where the first of their columns does. Integers are written in full, "
      "also beyond 2^53, which some readers round; floats have the fewest digits that read back as the same value, and "
      "NaN and infinities, which JSON doesn't have, are null. A decimal[S] is a number with S digits behind the point. "
      "A bool is true or false; dates and timestamps are texts such as \"2026-11-23\" and \"2026-11-23T22:15:03Z\". A "
      "string or bytes[N] must be UTF-8: anything else ends the job. The file appears under its name when the whole "
      "job has succeeded.";
  d.details += partitions_details;
  d.order = "keeps: lines are written in the order of the input";
  d.example =
      "write: {op: file.write_json_lines, in: top, with: {path: out/degree.jsonl, names: {degree: stats.degree}}}\n";
  d.role = plan::operator_role::sink;
  d.division = plan::operator_division::pieces;
  d.work_per_byte = 4;
  d.inputs = {{"in", "the rows"}};
  d.parameters = written_file_parameters();
  d.parameters.push_back(path_columns_parameter());
  d.parameters.push_back(json_names_parameter());
  d.parameters.push_back(written_missing_parameter("null"));
  d.memory = [](const plan::node& n, plan::node_part) { return writing_memory(n, n.settings.as<settings>().to); };
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
