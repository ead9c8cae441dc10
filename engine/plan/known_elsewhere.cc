#include "engine/plan/known_elsewhere.h"

#include <fmt/format.h>

#include <algorithm>

namespace flowrun::plan {

namespace {

struct other_name {
  std::string_view name, write;
};

constexpr std::string_view columns = "map for columns, with: {column: expression, …}; filter chooses rows";
constexpr std::string_view rows = "filter, with: {where: condition}";
constexpr std::string_view ordered = "sort, with: {by: [column, -column]}";
constexpr std::string_view distinct =
    "sort, with: {by: [column, …], unique: true}; for input that is sorted, limit, with: {count: 1, by: [column, …]}";
constexpr std::string_view grouped =
    "group behind a sort, or a sort that does both, with: {by: [column], combine: {n: count()}}; what is computed gets "
    "a name there, by: [{day: \"date_trunc('day', t)\"}]";
constexpr std::string_view first_rows = "limit, with: {count: 10}";
constexpr std::string_view last_rows =
    "sort, with: {by: [-column], limit: 10} for the rows with the largest values; for the last of all rows, a scan, "
    "with: {number: n}, a reduce of it called all, with: {let: {total: count()}}, and a filter of the scan, scalars: "
    "all, with: {where: n + 10 >= all.total}";
constexpr std::string_view converted =
    "map, with: {\"*\": all, column: f64(column)}: types are functions, and to_u64(text) reads a number";
constexpr std::string_view pivoted =
    "sort, with: {by: [key], combine: {a: \"sum(if(kind == 'a', x, 0))\", b: \"sum(if(kind == 'b', x, 0))\"}}: a "
    "column for each kind, which the job names";
constexpr std::string_view not_missing =
    "filter, with: {where: not x_missing}: where x is read, null_values: [\"\"] and missing: {x: x_missing} add that "
    "column (docs/how-to/missing-values.md)";
constexpr std::string_view csv_read = "file.read_csv, or file.write_csv";
constexpr std::string_view parquet_read =
    "arrow.read_parquet, of a plugin: plugins: [arrow] in the job, and --plugin DIR for where it was built "
    "(plugin/examples/arrow/README.md says how); without it DuckDB makes a CSV file: COPY (FROM 'x.parquet') TO "
    "'x.csv' (HEADER)";
constexpr std::string_view parquet_written =
    "arrow.write_parquet, of a plugin: plugins: [arrow] in the job, and --plugin DIR for where it was built "
    "(plugin/examples/arrow/README.md says how)";
constexpr std::string_view later_rows = "limit, with: {skip: 10}";
constexpr std::string_view top =
    "sort, with: {by: [-column], limit: 10}; for the top of each group, sort by [key, -column] and then limit, with: "
    "{count: 10, by: [key]}";
constexpr std::string_view one_after_the_other = "concat, or merge for inputs that are sorted and stay so";
constexpr std::string_view neighbours =
    "window, with: {before: 1, let: {step: \"x - row[-1].x\"}}, and reset: [key] for neighbours of the same key only";
constexpr std::string_view numbered =
    "scan, with: {number: n}, min_rank or dense_rank for equal values, and reset: [key] to begin anew with each key";
constexpr std::string_view filled =
    "scan, with: {state: {last: 0}, set: {last: \"if(x == 0, last, x)\"}}: a condition says what is missing; what is "
    "missing in a file gets a value where it is read, null_values: [\"\"], default: {x: 0}";
constexpr std::string_view running =
    "scan, with: {prefix_sum: {total: x}}, and reset: [key] to begin anew with each key";
constexpr std::string_view of_groups =
    "a sort by [key, column], then window or scan with reset: [key], or limit with by: [key]";
constexpr std::string_view several_rows = "flat_map, or tokens for the words of a text";
constexpr std::string_view sampled =
    "filter, with: {where: \"rand_f64(1, row_number) < 0.01\"} for a share, or shuffle, with: {limit: 1000} for so "
    "many rows";
constexpr std::string_view beside_every_row =
    "reduce for the values of all rows, and scalars: NODE beside in: of the node whose expressions name them: "
    "NODE.column";
constexpr std::string_view joined = "join of inputs that are sorted by the keys, or lookup where one of them is small";
constexpr std::string_view json_read = "file.read_json_lines: one object a line";
constexpr std::string_view json_written = "file.write_json_lines: one object a line";
constexpr std::string_view messages_read = "file.read_protobuf: messages behind their lengths, with their descriptors";
constexpr std::string_view messages_written =
    "file.write_protobuf: messages behind their lengths, with their descriptors";

constexpr other_name others[] = {
    {"select", columns},
    {"project", columns},
    {"rename", columns},
    {"mutate", columns},
    {"assign", columns},
    {"with_column", columns},
    {"with_columns", columns},
    {"drop", "map with the columns that stay; filter drops rows"},
    {"where", rows},
    {"having", rows},
    {"query", rows},
    {"grep", "filter, with: {where: \"regex_matches(line, 'pattern')\"}"},
    {"order", ordered},
    {"order_by", ordered},
    {"orderby", ordered},
    {"sort_by", ordered},
    {"sort_values", ordered},
    {"arrange", ordered},
    {"unique", distinct},
    {"distinct", distinct},
    {"uniq", distinct},
    {"dedup", distinct},
    {"dedupe", distinct},
    {"deduplicate", distinct},
    {"drop_duplicates", distinct},
    {"group_by", grouped},
    {"groupby", grouped},
    {"aggregate", grouped},
    {"agg", grouped},
    {"summarize", grouped},
    {"summarise", grouped},
    {"count", "reduce, with: {let: {n: count()}}, or group to count by keys"},
    {"sum", "reduce, with: {let: {total: sum(x)}}, or group to sum up by keys"},
    {"head", first_rows},
    {"take", first_rows},
    {"tail", last_rows},
    {"last", last_rows},
    {"first", first_rows},
    {"fetch", first_rows},
    {"limit_by", "limit, with: {count: 10, by: [key]}"},
    {"skip", later_rows},
    {"offset", later_rows},
    {"top", top},
    {"top_k", top},
    {"topk", top},
    {"nlargest", top},
    {"nsmallest", top},
    {"union", one_after_the_other},
    {"union_all", one_after_the_other},
    {"append", one_after_the_other},
    {"cat", one_after_the_other},
    {"lag", neighbours},
    {"lead", neighbours},
    {"shift", neighbours},
    {"diff", neighbours},
    {"rolling", neighbours},
    {"fill", filled},
    {"ffill", filled},
    {"fillna", filled},
    {"fill_null", filled},
    {"forward_fill", filled},
    {"cumsum", running},
    {"running_total", running},
    {"row_number", numbered},
    {"rank", numbered},
    {"dense_rank", numbered},
    {"cumcount", numbered},
    {"over", of_groups},
    {"partition_by", of_groups},
    {"explode", several_rows},
    {"unnest", several_rows},
    {"flatten", several_rows},
    {"melt", several_rows},
    {"unpivot", several_rows},
    {"sample", sampled},
    {"tablesample", sampled},
    {"sample_n", sampled},
    {"sample_frac", sampled},
    {"reservoir", sampled},
    {"cross_join", beside_every_row},
    {"broadcast", beside_every_row},
    {"scalar", beside_every_row},
    {"scalars", beside_every_row},
    {"subquery", beside_every_row},
    {"inner_join", joined},
    {"left_join", joined},
    {"leftjoin", joined},
    {"innerjoin", joined},
    {"right_join", joined},
    {"full_join", joined},
    {"outer_join", joined},
    {"cast", converted},
    {"astype", converted},
    {"convert", converted},
    {"pivot", pivoted},
    {"pivot_table", pivoted},
    {"pivot_wider", pivoted},
    {"crosstab", pivoted},
    {"dropna", not_missing},
    {"drop_na", not_missing},
    {"drop_nulls", not_missing},
    {"csv", csv_read},
    {"file.csv", csv_read},
    {"read_parquet", parquet_read},
    {"scan_parquet", parquet_read},
    {"file.read_parquet", parquet_read},
    {"write_parquet", parquet_written},
    {"to_parquet", parquet_written},
    {"sink_parquet", parquet_written},
    {"file.write_parquet", parquet_written},
    {"intersect", joined},
    {"except", joined},
    {"read_csv", "file.read_csv"},
    {"write_csv", "file.write_csv"},
    {"to_csv", "file.write_csv"},
    {"read_lines", "file.read_lines"},
    {"read_text", "file.read_lines"},
    {"file.read_text", "file.read_lines"},
    {"write_lines", "file.write_lines"},
    {"write_text", "file.write_lines"},
    {"file.write_text", "file.write_lines"},
    {"read_rows", "file.read_rows"},
    {"read_binary", "file.read_rows"},
    {"file.read_binary", "file.read_rows"},
    {"write_rows", "file.write_rows"},
    {"write_binary", "file.write_rows"},
    {"file.write_binary", "file.write_rows"},
    {"read_json", json_read},
    {"read_jsonl", json_read},
    {"read_ndjson", json_read},
    {"read_json_lines", json_read},
    {"read_json_auto", json_read},
    {"file.read_json", json_read},
    {"file.read_jsonl", json_read},
    {"file.read_ndjson", json_read},
    {"write_json", json_written},
    {"write_jsonl", json_written},
    {"write_ndjson", json_written},
    {"write_json_lines", json_written},
    {"to_json", json_written},
    {"file.write_json", json_written},
    {"file.write_jsonl", json_written},
    {"file.write_ndjson", json_written},
    {"read_protobuf", messages_read},
    {"read_proto", messages_read},
    {"read_pb", messages_read},
    {"write_protobuf", messages_written},
    {"write_proto", messages_written},
    {"write_pb", messages_written},
    {"to_protobuf", messages_written},
};

// Ways to write it that are no other name alone.
constexpr std::string_view key_pairs = "by has the keys of both sides: by: {left column: right column}";
constexpr std::string_view falling = "a minus stands before a key whose order falls: by: [key, -column]";
constexpr std::string_view sorted_before = "a sort in front of it brings the order: sort, with: {by: [key, -column]}";
constexpr std::string_view chosen_behind = "the columns of both sides come out; a map behind it chooses some";
constexpr std::string_view chosen_before = "all columns are written; a map in front of it chooses some";
constexpr std::string_view taken_by_type = "`type` names the columns to take, in any order with columns: header";
constexpr std::string_view skipped_lines =
    "header: true skips the first line; on_error: skip drops lines that are no rows";
constexpr std::string_view bytes_as_they_are =
    "texts are bytes, usually UTF-8: `iconv -f LATIN1 -t UTF-8` makes UTF-8 of others";

// A parameter by what pandas, SQL and the shell call it, for an operator that has `given`, and `beside` if that says
// which operators are meant. Without `instead`, `given` is what it is called here. The first that fits counts.
struct other_parameter {
  std::string_view name, given, beside = {}, instead = {};
};
constexpr other_parameter other_parameters[] = {
    {"sep", "delimiter"},
    {"separator", "delimiter"},
    {"delim", "delimiter"},
    {"quotechar", "quote"},
    {"na_values", "null_values"},
    {"nulls", "null_values"},
    {"na_rep", "null_values"},
    {"nullstr", "null_values"},
    {"nulls", "null_text"},
    {"na_rep", "null_text"},
    {"nullstr", "null_text"},
    {"null_values", "null_text"},
    {"na_values", "null_text"},
    {"fillna", "default"},
    {"fill_value", "default"},
    {"fill_value", "defaults"},
    {"defaults", "default"},
    {"parse_dates", "format"},
    {"date_format", "format"},
    {"dateformat", "format"},
    {"timestamp_format", "format"},
    {"schema", "descriptors"},
    {"proto", "descriptors"},
    {"dtype", "type"},
    {"dtypes", "type"},
    {"schema", "type"},
    {"types", "type"},
    {"file", "path"},
    {"filename", "path"},
    {"files", "path"},
    {"paths", "path"},
    {"left_on", "by", "matched", key_pairs},
    {"left_on", "by", "defaults", key_pairs},
    {"right_on", "by", "matched", key_pairs},
    {"right_on", "by", "defaults", key_pairs},
    {"on", "by"},
    {"using", "by"},
    {"key", "by"},
    {"keys", "by"},
    {"order_by", "by", "stable"},
    {"order_by", "by", "less"},
    {"order_by", "by", "", sorted_before},
    {"order_by", "reset", "", sorted_before},
    {"sort_by", "by", "stable"},
    {"sort_by", "by", "less"},
    {"sort_by", "by", "", sorted_before},
    {"sort_by", "reset", "", sorted_before},
    {"group_by", "by"},
    {"groupby", "by"},
    {"partition_by", "by"},
    {"partition_by", "reset"},
    {"group_by", "reset"},
    {"by", "reset"},
    {"key", "reset"},
    {"ascending", "by", "stable", falling},
    {"ascending", "by", "less", falling},
    {"descending", "by", "stable", falling},
    {"descending", "by", "less", falling},
    {"desc", "by", "stable", falling},
    {"desc", "by", "less", falling},
    {"columns", "let"},
    {"columns", "rename", "", chosen_behind},
    {"columns", "by"},
    {"columns", "type"},
    {"columns", "path", "compression", chosen_before},
    {"how", "kind", "by"},
    {"join", "kind", "by"},
    {"suffixes", "rename"},
    {"agg", "let"},
    {"aggs", "let"},
    {"aggregate", "let"},
    {"aggregates", "let"},
    {"agg", "combine"},
    {"aggs", "combine"},
    {"aggregate", "combine"},
    {"aggregates", "combine"},
    {"let", "combine"},
    {"combine", "let"},
    {"condition", "where"},
    {"predicate", "where"},
    {"expr", "where"},
    {"expression", "where"},
    {"query", "where"},
    {"filter", "where"},
    {"limit", "count", "skip"},
    {"first", "count", "skip"},
    {"n", "count"},
    {"rows", "count"},
    {"n", "limit"},
    {"count", "limit"},
    {"n", "rows", "seed"},
    {"count", "rows", "seed"},
    {"limit", "rows", "seed"},
    {"offset", "skip", "count"},
    {"distinct", "unique"},
    {"compression", "compress"},
    {"compress", "compression"},
    {"usecols", "columns", "null_values", taken_by_type},
    {"skiprows", "columns", "null_values", skipped_lines},
    {"encoding", "delimiter", "", bytes_as_they_are},
};

}  // namespace

std::string parameter_known_elsewhere(std::string_view name, const std::vector<std::string>& parameters) {
  const auto has = [&](std::string_view p) {
    return std::find(parameters.begin(), parameters.end(), p) != parameters.end();
  };
  for (const other_parameter& o : other_parameters)
    if (o.name == name && has(o.given) && (o.beside.empty() || has(o.beside)))
      return o.instead.empty() ? fmt::format("here it is called '{}'", o.given) : std::string(o.instead);
  return {};
}

std::string known_elsewhere(std::string_view op) {
  std::string name;  // "Order by" is order_by
  for (const char c : op) name += c == ' ' || c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  const auto* const found =
      std::find_if(std::begin(others), std::end(others), [&](const other_name& o) { return o.name == name; });
  return found == std::end(others) ? std::string() : fmt::format("write {}", found->write);
}

}  // namespace flowrun::plan
