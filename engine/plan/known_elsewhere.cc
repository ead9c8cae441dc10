#include "engine/plan/known_elsewhere.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/expr/known_elsewhere.h"
#include "engine/expr/words_of_sql.h"

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
constexpr std::string_view parquet =
    "arrow.read_parquet, or arrow.write_parquet, of a plugin: plugins: [arrow] in the job, and --plugin DIR for where "
    "it was built (plugin/examples/arrow/README.md says how)";
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
    "scan, with: {state: {last: i64(0)}, set: {last: \"if(x == 0, last, x)\"}}: a condition says what is missing, and "
    "the state begins with the type of x, i64(0), u64(0), f64(0) or ''; what is missing in a file gets a value where "
    "it is read, null_values: [\"\"], default: {x: 0}";
constexpr std::string_view running =
    "scan, with: {prefix_sum: {total: x}}, and reset: [key] to begin anew with each key";
constexpr std::string_view of_groups =
    "a sort by [key, column], then window or scan with reset: [key], or limit with by: [key]";
constexpr std::string_view several_rows = "flat_map, or tokens for the words of a text";
constexpr std::string_view sampled =
    "filter, with: {where: \"rand_f64(1, row_number) < 0.01\"} for a share, or shuffle, with: {limit: 1000} for so "
    "many rows";
constexpr std::string_view renamed = "map, with: {\"*\": all but old, new: old}";
constexpr std::string_view neighbours_together =
    "for the mean of 3 rows sort, with: {by: [key, time]}; scan, with: {number: n, prefix_sum: {total: x}, reset: "
    "[key]}; and window, with: {before: 3, reset: [key], let: {mean: \"(total - row[-3].total) / f64(min(n + 1, "
    "3))\"}}. For a span of time pq_scan does it: its messages take rows out of the sum again";
constexpr std::string_view sessions =
    "sort, with: {by: [user, t]}; window, with: {before: 1, let: {begins: \"row[-1].user != user or t > row[-1].t + "
    "1800\"}}; and scan, with: {prefix_sum: {session: u64(begins)}} (docs/how-to/sessionise.md)";
constexpr std::string_view steps_of_values =
    "sort, with: {by: [{from: \"floor_div(x, 10) * 10\"}], combine: {n: count()}}; for a float from is 10.0 * floor(x "
    "/ 10.0)";
constexpr std::string_view equal_shares =
    "sort, with: {by: [x]}; scan, with: {number: n}; reduce of the scan, called all, with: {let: {total: count()}}; "
    "and map of the scan, scalars: all, with: {\"*\": all, share: \"1 + n * 4 / all.total\"}. The sizes of these four "
    "shares differ by one row at most";
constexpr std::string_view latest_before =
    "concat of two maps with the same columns, kind: u8(0) for rows with a value x, and kind: u8(1) for rows that want "
    "the latest one; behind it sort, with: {by: [key, time, kind]}, and scan, with: {reset: [key], state: {last: 0.0}, "
    "set: {last: \"if(kind == 0, x, last)\"}, when: kind == 1, emit: {key: key, time: time, x: last}}";
constexpr std::string_view within_ranges =
    "a join by pieces of the range. For ranges that are at most 100 long: flat_map makes a row of each piece that a "
    "range touches, with: {rows: [{piece: from / 100, from: from, to: to}, {piece: to / 100, from: from, to: to, when: "
    "to / 100 != from / 100}]}; a map gives the other side piece: t / 100; sort both by piece, join by it, and filter, "
    "with: {where: t between from and to}. Ranges that don't overlap need no pairs: `flowrun explain asof` says how";
constexpr std::string_view with_partner = "join, with: {by: [key], kind: semi}, of inputs that are sorted by the keys";
constexpr std::string_view without_partner =
    "join, with: {by: [key], kind: anti}, of inputs that are sorted by the keys";
constexpr std::string_view in_both =
    "join, with: {by: [a, b], kind: semi}, where a and b are all columns, behind a sort of each side by them, the left "
    "one with unique: true";
constexpr std::string_view in_one_only =
    "join, with: {by: [a, b], kind: anti}, where a and b are all columns, behind a sort of each side by them, the left "
    "one with unique: true";
constexpr std::string_view by_hash =
    "lookup, in: {stream: a, table: b}, with: {by: [key], missing: drop}, where b fits in memory and has each key "
    "once; else join, of inputs that are sorted by the keys";
constexpr std::string_view all_pairs =
    "join by a column that is the same in all rows: for each side map, with: {\"*\": all, one: u8(1)}, and check, "
    "with: {sorted: [one]}; then join, with: {by: [one]}, the smaller side as right, for it is held in memory. "
    "group_pairs, with: {by: [], …} makes the pairs of one input; for one value beside every row, write reduce, and "
    "scalars: NODE";
constexpr std::string_view read_by_several =
    "in: NODE in each node that is to have the rows: any number of nodes may read one";
constexpr std::string_view broken_rules =
    "check, with: {where: condition}: the first row that breaks the rule ends the job";
constexpr std::string_view numbers_in_order = "generate, with: {rows: 100, columns: {n: i}}, where i counts from 0";
constexpr std::string_view any_source =
    "file.read_csv, file.read_json_lines, file.read_lines or another one of file.read_…: `flowrun infer FILE` says "
    "which, and with which types";
constexpr std::string_view any_sink =
    "file.write_csv, file.write_json_lines, file.write_lines or another one of file.write_…; path: \"-\" is standard "
    "output";
constexpr std::string_view components =
    "union_find, with: {ends: [src, dst], nodes: 1000000}, where nodes are numbers below 1000000, and read the "
    "component of each of them from its port labels (docs/jobs/components.md)";
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
    {"rename", renamed},
    {"rename_column", renamed},
    {"rename_columns", renamed},
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
    {"rolling", neighbours_together},
    {"rolling_mean", neighbours_together},
    {"rolling_sum", neighbours_together},
    {"moving_average", neighbours_together},
    {"moving_avg", neighbours_together},
    {"session", sessions},
    {"sessions", sessions},
    {"sessionize", sessions},
    {"sessionise", sessions},
    {"session_window", sessions},
    {"histogram", steps_of_values},
    {"hist", steps_of_values},
    {"bucket", steps_of_values},
    {"width_bucket", steps_of_values},
    {"cut", steps_of_values},
    {"ntile", equal_shares},
    {"qcut", equal_shares},
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
    {"cross_join", all_pairs},
    {"crossjoin", all_pairs},
    {"cartesian", all_pairs},
    {"cartesian_product", all_pairs},
    {"broadcast", beside_every_row},
    {"scalar", beside_every_row},
    {"scalars", beside_every_row},
    {"subquery", beside_every_row},
    {"asof", latest_before},
    {"as_of", latest_before},
    {"asof_join", latest_before},
    {"join_asof", latest_before},
    {"merge_asof", latest_before},
    {"range_join", within_ranges},
    {"interval_join", within_ranges},
    {"semi_join", with_partner},
    {"left_semi_join", with_partner},
    {"anti_join", without_partner},
    {"left_anti_join", without_partner},
    {"hash_join", by_hash},
    {"broadcast_join", by_hash},
    {"merge_join", joined},
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
    {"intersect", in_both},
    {"except", in_one_only},
    {"minus", in_one_only},
    {"tee", read_by_several},
    {"connected_components", components},
    {"components", components},
    {"print", "file.write_csv, with: {path: \"-\"} writes rows to standard output"},
    {"show", "file.write_csv, with: {path: \"-\"} writes rows to standard output"},
    {"assert", broken_rules},
    {"validate", broken_rules},
    {"seq", numbers_in_order},
    {"range", numbers_in_order},
    {"generate_series", numbers_in_order},
    {"while", "loop, whose `until` ends it"},
    {"source", any_source},
    {"sink", any_sink},
    {"file.read", any_source},
    {"file.write", any_sink},
    {"read", any_source},
    {"load", any_source},
    {"write", any_sink},
    {"save", any_sink},
    {"parquet", parquet},
    {"file.parquet", parquet},
    {"json", "file.read_json_lines, or file.write_json_lines: one object a line"},
    {"file.json", "file.read_json_lines, or file.write_json_lines: one object a line"},
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
constexpr std::string_view named_by_column =
    "`path` says which file; file_column: NAME adds a column with the path of the file that a row is from";
constexpr std::string_view whole_files =
    "an output is written anew: a concat of the file as it was and of the new rows makes a longer one, under another "
    "name";
constexpr std::string_view files_by_column = "path: \"DIR/{column}.csv\" writes a file for each value of a column";
constexpr std::string_view filtered_behind = "a filter behind it: filter, with: {where: condition}";
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
    {"filename", "file_column", "", named_by_column},
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
    {"partition_by", "path", "max_files", files_by_column},
    {"partition_cols", "path", "max_files", files_by_column},
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
    {"skip_rows", "columns", "null_values", skipped_lines},
    {"skip", "columns", "null_values", skipped_lines},
    {"append", "path", "max_files", whole_files},
    {"mode", "path", "max_files", whole_files},
    {"having", "combine", "", filtered_behind},
    {"having", "let", "", filtered_behind},
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

std::vector<word_elsewhere> meanings_elsewhere(std::string_view word) {
  std::vector<word_elsewhere> out;
  const auto add = [&](std::string_view kind, std::string advice) {
    if (!advice.empty()) out.push_back({kind, std::move(advice)});
  };
  const std::string small = expr::in_small_letters(word);
  add("operator", known_elsewhere(word));
  add("function", expr::known_elsewhere(small));
  add("aggregate", expr::aggregate_known_elsewhere(small));
  if (out.empty()) add("word", expr::operator_known_elsewhere(small));
  if (out.empty()) add("word", expr::word_known_elsewhere(small));
  return out;
}

}  // namespace flowrun::plan
