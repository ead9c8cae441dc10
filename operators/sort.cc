// sort: the operator that flowrun exists for. This file only connects: keys and options from the declaration to run
// creation and merging in engine/sort, as the sink of one pipeline and the source of the next (decision D4).
//
//   [hidden key columns, or partial results] ─▶ prepare ─▶ run_creator
//   run_merger ─▶ refine ─▶ [unique, combine, limit] ─▶ [without hidden columns]
//
// Keys that are more than a column (or a slice of one) are computed into hidden columns first and dropped behind. A
// sort that combines sorts partial results where it can (sort_combine.h).
#include <fmt/format.h>

#include <algorithm>

#include "operators/parts/order/combining_keys.h"
#include "operators/parts/order/group_stages.h"
#include "operators/parts/order/ordered_cut.h"
#include "operators/parts/order/sort_combine.h"
#include "operators/parts/order/sort_stages.h"
#include "operators/parts/rules/estimates.h"
#include "operators/parts/rules/program.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

// Names that no user's column can have.
std::string hidden_column(size_t key) { return fmt::format("key[{}]", key); }

struct settings {
  std::vector<plan::sort_key> keys;
  bool unique = false;
  bool stable = false;
  bool long_runs = false;
  runs::compression compress = runs::compression::none;
  uint64_t limit = 0;
  named_aggregates combine;
  bool few = false;  // there are at most few_rows
  void bind(const expr::scalar_values& values) { expr::bind_all(values, keys, combine); }
};

runs::compression compression_of(std::string_view name) {
  if (name == "delta") return runs::compression::delta;
  if (name == "lz4") return runs::compression::lz4;
  if (name == "zstd") return runs::compression::zstd;
  return runs::compression::none;
}

settings read(plan::node_checker& node) {
  settings out;
  out.keys = node.sort_keys("by", expr::scope{.row = &node.input_type()});
  out.unique = node.boolean("unique");
  out.few = node.input_estimate().most_rows <= few_rows;
  out.stable = node.boolean("stable");
  out.long_runs = node.text("runs") == "long";
  out.compress = compression_of(node.text("compress"));
  if (node.has("limit")) out.limit = node.integer("limit");
  if (node.has("combine")) out.combine = node.aggregates("combine", expr::scope{.row = &node.input_type()});
  // First and last mean the order of the input, which only a stable sort keeps.
  for (const auto& [name, aggregate] : out.combine) out.stable |= aggregate.is_ordered();
  return out;
}

// What the rows are sorted by: the keys, and the value that a count of different ones puts together.
std::vector<plan::sort_key> all_keys(const settings& s) {
  std::vector<plan::sort_key> out = s.keys;
  if (const expr::expression* const value = distinct_value(s.combine))
    out.push_back({*value, false, std::nullopt, {}, {}});
  return out;
}

plan::order order_of(const settings& s) {
  plan::order out;
  for (const plan::sort_key& k : s.keys) {
    if (!s.combine.empty()) {
      out.push_back({name_of(k), k.descending});
      continue;
    }
    if (!k.term) break;  // there is no name for what a computed key orders by
    out.push_back(*k.term);
  }
  return out;
}

// What an input that is sorted already is sorted by. Empty: there is no name for that.
plan::order order_of_input(const record::row_type& input, const settings& s) {
  plan::order out;
  for (const plan::sort_key& k : all_keys(s)) {
    if (k.term && (s.combine.empty() || is_whole_column(k))) {
      out.push_back(*k.term);
    } else {
      const auto column = k.value.as_column();
      if (!column) return {};
      out.push_back({input[*column].name});
    }
  }
  return out;
}

// The rows that are sorted: the input's columns and the hidden keys, or partial results.
struct sorted_rows {
  named_expressions projection;  // empty: the input as it is
  record::row_type type;
  record::key key;
  std::vector<std::string> columns;  // that hold the keys; of rows that are combined behind the sort
  std::optional<partial_results> partial;
};

sorted_rows plan_rows(const record::row_type& input, const settings& s) {
  sorted_rows out;
  out.type = input;
  const std::vector<plan::sort_key> keys = all_keys(s);
  if (!s.combine.empty()) {
    named_expressions values = key_expressions(s.keys);
    if (const expr::expression* const value = distinct_value(s.combine))
      values.emplace_back(hidden_column(values.size()), *value);
    out.partial = plan_partial_results(input, values, s.combine, s.few);
  }
  if (out.partial) {
    out.projection = out.partial->projection;
    out.type = out.partial->type;
    for (size_t i = 0; i < keys.size(); ++i) out.key.push_back({i, keys[i].descending, 0, 0});
    return out;
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    const plan::sort_key& k = keys[i];
    const bool is_free = s.combine.empty() || (is_whole_column(k) && std::find(out.columns.begin(), out.columns.end(),
                                                                               k.term->column) == out.columns.end());
    if (k.term && is_free) {
      out.key.push_back({*input.index_of(k.term->column), k.descending, k.term->from, k.term->length});
      out.columns.push_back(k.term->column);
      continue;
    }
    if (out.projection.empty()) out.projection = identity(input);
    out.key.push_back({out.projection.size(), k.descending, 0, 0});
    out.columns.push_back(hidden_column(i));
    out.projection.emplace_back(hidden_column(i), k.value);
  }
  out.columns.resize(s.keys.size());
  if (!out.projection.empty()) out.type = type_of(out.projection);
  return out;
}

// Of run creation. The limit counts combined rows, which come out of the merge only.
sort::sort_settings creator_settings(const settings& s, const sorted_rows& rows) {
  sort::sort_settings out;
  out.type = rows.type;
  out.key = rows.key;
  out.stable = s.stable;
  out.unique = s.unique;
  out.long_runs = s.long_runs;
  if (rows.partial) out.combiner = rows.partial->combiner;
  // Of a key that has several values there are several rows.
  const bool one_row_of_each_key = rows.partial && distinct_value(s.combine) == nullptr;
  if (s.combine.empty() || (one_row_of_each_key && !s.long_runs)) out.limit = s.limit;
  return out;
}
sort::sort_settings merger_settings(const settings& s, const sorted_rows& rows) {
  sort::sort_settings out = creator_settings(s, rows);
  if (!s.combine.empty()) out.limit = 0;
  return out;
}

// Of an elided sort: all its keys are columns.
sort::sort_settings passing_rows(const record::row_type& input, const settings& s) {
  sort::sort_settings out;
  out.type = input;
  for (const plan::order_term& term : order_of_input(input, s))
    out.key.push_back({*input.index_of(term.column), term.descending, term.from, term.length});
  return out;
}

void check_combine(plan::node_checker& node, const settings& s) {
  check_combining_keys(node, s.keys, s.combine);
  if (s.unique)
    node.fault_at_parameter("unique", "a sort that combines leaves one row of each key anyway", {}, "leave out unique");
}

// Why rows are not sorted as numbers, and what would change that; empty if nothing would.
struct index_reason {
  std::string why;
  std::string way_out;
};
index_reason why_sorted_by_index(plan::node_checker& node, const settings& s, const sorted_rows& rows) {
  if (rows.type.has_strings()) return {"these have strings", {}};
  if (!record::row_codec::fits(rows.type)) {
    std::string why = fmt::format("these have {} bytes", rows.type.row_bytes());
    if (rows.partial)
      why = fmt::format("the keys and the aggregates have {} bytes", rows.type.row_bytes());
    else if (!rows.projection.empty())
      why += " with their computed keys";
    return {std::move(why), {}};
  }
  if (s.stable) {
    const bool of_plugin = std::any_of(s.combine.begin(), s.combine.end(),
                                       [](const auto& a) { return a.second.outside && a.second.is_ordered(); });
    return {"a stable sort keeps them in the order of the input", node.boolean("stable") ? ", or stable"
                                                                  : of_plugin ? ", or aggregates that go by the order"
                                                                              : ", or first and last"};
  }
  return {"with unique, the order of the input decides which one stays", ", or make all columns keys"};
}

// Only rows that are sorted as numbers can make long runs, and only they have differences to compress.
void check_sorted_whole(plan::node_checker& node, const settings& s) {
  const sorted_rows rows = plan_rows(node.input_type(), s);
  if (creator_settings(s, rows).narrow()) return;
  const index_reason reason = why_sorted_by_index(node, s, rows);
  if (s.long_runs)
    node.fault_at_parameter("runs",
                            fmt::format("long runs need rows of at most 16 bytes, sorted whole; {}", reason.why),
                            "halves", "leave out runs" + reason.way_out);
  if (s.compress == runs::compression::delta)
    node.fault_at_parameter("compress",
                            fmt::format("delta needs rows of at most 16 bytes, sorted whole; {}", reason.why),
                            "lz4, zstd, none", "lz4 (fast) and zstd (shorter) compress rows of any kind");
}

settings check(plan::node_checker& node) {
  settings s = read(node);
  if (node.has("limit") && s.limit == 0)
    node.fault_at_parameter("limit", "a limit of 0 leaves no rows", "a number from 1 on",
                            "leave it out to keep all rows");
  if (s.keys.empty() && node.ok()) node.fault_at_parameter("by", "no key is given", "[column, -column, …]");
  if (!s.combine.empty())
    check_combine(node, s);
  else
    refuse_named_keys(node, s.keys);
  if (node.ok()) check_sorted_whole(node, s);
  if (!node.ok()) return s;
  const plan::order gives = order_of(s);
  const plan::order sorted_by = order_of_input(node.input_type(), s);
  node.facts().sorts_by = sorted_by;
  node.node().elided = !sorted_by.empty() && plan::satisfies(node.input_order(), sorted_by);
  const sorted_rows rows = plan_rows(node.input_type(), s);
  const sort::sort_settings creating = creator_settings(s, rows);
  plan::sort_facts& facts = node.facts().sort;
  facts.limit_rows = creating.limit;
  facts.limited = s.limit > 0;
  facts.long_runs = s.long_runs;
  facts.compressed = s.compress != runs::compression::none;
  facts.drops_equal = s.unique || !s.combine.empty();
  facts.unique = s.unique;
  if (node.node().elided || facts.drops_equal) node.facts().needs.push_back({0, s.keys.size()});
  facts.indexed = !creating.narrow();
  if (!rows.projection.empty()) facts.row_bytes = rows.type.row_bytes();
  plan::row_estimate estimate = node.input_estimate();
  if (estimate.known)
    facts.num_bytes = bytes_to_sort(rows.type, facts.indexed, with_type(estimate, node.input_type(), rows.type));
  record::row_type output = node.input_type();
  if (!s.combine.empty()) {
    output = group_type(key_columns(s.keys), s.combine);
    estimate = with_type(estimate, node.input_type(), output);
  }
  if (s.unique || !s.combine.empty()) estimate = at_most(estimate);
  if (s.limit > 0) estimate = limited(estimate, s.limit, output);
  // An elided sort leaves the rows as they are, which may be sorted by more than was asked for.
  const bool as_it_was = node.node().elided && s.combine.empty();
  node.set_output(0, std::move(output), as_it_was ? node.input_order() : gives, estimate);
  return s;
}

exec::assembly build_creator(exec::build_context& c, const settings& s, const sorted_rows& rows) {
  exec::assembly out;
  if (!rows.projection.empty())
    out.stages.push_back(make_program(c.input_type(), {program_step::map(rows.projection)}, c.job.pool()));
  add_run_creation(out, c, creator_settings(s, rows), s.compress, rows.partial && s.few ? few_rows : UINT64_MAX);
  return out;
}

void combine(exec::assembly& to, exec::build_context& c, const settings& s, const sorted_rows& rows) {
  if (rows.partial)
    add_total_stage(to, rows.type, s.keys.size(), rows.partial->totals, c.output_type(), c.job.pool(), c.batches);
  else
    add_group_stages(to, rows.type, rows.columns, s.combine, c.output_type(), c.job.pool(), c.batches);
  if (s.limit > 0) to.stages.push_back(make_ordered_cut(c.output_type(), repeats::none, {}, s.limit, c.job.pool()));
}

exec::assembly build_merger(exec::build_context& c, const settings& s, const sorted_rows& rows) {
  exec::assembly out;
  add_merge(out, c, merger_settings(s, rows), s.compress);
  const repeats where = s.unique ? repeats::at_batch_starts : repeats::none;  // slices may repeat each other's last row
  if (!s.combine.empty())
    combine(out, c, s, rows);
  else if (where != repeats::none || s.limit > 0)
    out.stages.push_back(make_ordered_cut(rows.type, where, rows.key, s.limit, c.job.pool()));
  if (!rows.projection.empty() && s.combine.empty()) {
    named_expressions original;
    for (size_t i = 0; i < c.output_type().num_columns(); ++i)
      original.emplace_back(c.output_type()[i].name, expr::column_expression(rows.type, i));
    out.stages.push_back(make_program(rows.type, {program_step::map(original)}, c.job.pool()));
  }
  return out;
}

exec::assembly build(exec::build_context& c, const settings& s) {
  if (c.node.elided) {
    exec::assembly out;
    sorted_rows rows;
    rows.type = c.input_type();
    rows.key = passing_rows(c.input_type(), s).key;
    for (const plan::sort_key& k : s.keys) rows.columns.push_back(k.term->column);
    add_order_check(out, c, passing_rows(c.input_type(), s));
    if (!s.combine.empty())
      combine(out, c, s, rows);
    else
      out.stages.push_back(
          make_ordered_cut(rows.type, s.unique ? repeats::anywhere : repeats::none, rows.key, s.limit, c.job.pool()));
    return out;
  }
  const sorted_rows rows = plan_rows(c.input_type(), s);
  return c.is_intake() ? build_creator(c, s, rows) : build_merger(c, s, rows);
}

}  // namespace

template <>
exec::operator_definition word<"sort">() {
  plan::operator_declaration d;
  d.name = "sort";
  d.summary = "Sorts the rows, on scratch when they don't fit in memory.";
  d.details =
      "Unsigned and signed integers sort by value, floats by IEEE 754 totalOrder (-NaN < -inf < … < -0.0 < +0.0 < … < "
      "inf < NaN), "
      "bytes[N] and string byte by byte (locale C), a shorter string before its extensions.\n\n"
      "Rows with equal keys: with `stable` they keep the order of the input. Without it their order is a function of "
      "the input and the job alone, the same with any number of threads, any memory and any disks, and no other order "
      "is promised: where it matters, name more keys or say stable. So sorts may do what is fastest (rows of at most "
      "16 bytes are sorted as whole numbers, and their remaining bytes happen to decide).\n\n"
      "A sort whose input is already sorted by its keys (behind another sort, or with `sorted_by` declared at a file) "
      "is left out. "
      "What fits in memory is never written to scratch.";
  d.order = "needs: nothing; gives: by";
  d.example = "top: {op: sort, in: degrees, with: {by: [-deg, src], limit: 10}}\n";
  d.role = plan::operator_role::breaker;
  d.division = plan::operator_division::sorting;
  d.inputs = {{"in", "the rows to sort"}};
  d.outputs = {{"out", "the rows in order"}};
  d.parameters = {{.name = "by",
                   .kind = plan::parameter_kind::named_sort_keys,
                   .required = true,
                   .help = "The keys, most significant first: columns, slices of bytes columns (\"key[0:10]\") or "
                           "expressions; - in front: descending. With combine, what is no column has a name, {day: "
                           "\"date_trunc('day', t)\"}, and comes out under it."},
                  {.name = "unique",
                   .kind = plan::parameter_kind::boolean,
                   .default_text = "false",
                   .help = "Keep only the first row of each key, first in the order of the input."},
                  {.name = "combine",
                   .kind = plan::parameter_kind::aggregates,
                   .help = "Make one row of each key, {name: \"sum(x)\"}: the keys and these aggregates, as a group "
                           "behind the sort would. Rows with equal keys are combined as soon as they meet, so "
                           "that fewer rows go to scratch. Sums of floats, aggregates of strings and wide states of a "
                           "plugin's aggregates are the exception: they are made after the sort. With "
                           "count_distinct(x) the sort goes by x behind the keys, and scratch has each pair of a key "
                           "and x once; all count_distinct of a sort are of one x."},
                  {.name = "limit",
                   .kind = plan::parameter_kind::integer,
                   .help = "Keep only the first so many rows of the result, at least one."},
                  {.name = "stable",
                   .kind = plan::parameter_kind::boolean,
                   .default_text = "false",
                   .help = "Rows with equal keys keep the order of the input, also when they are narrow."},
                  {.name = "runs",
                   .kind = plan::parameter_kind::choice,
                   .default_text = "halves",
                   .choices = {"halves", "long"},
                   .help = "How long the sorted runs on scratch are: half of the sort's memory (halves), or about "
                           "twice the memory on random input (long). Long runs take more work in memory. They pay "
                           "when one merge pass would not suffice otherwise (see `flowrun plan`), and for nearly "
                           "sorted input, which makes one run. Only for rows of at most 16 bytes that are sorted whole "
                           "(no strings, not stable). The rows that come out are the same."},
                  {.name = "compress",
                   .kind = plan::parameter_kind::choice,
                   .default_text = "none",
                   .choices = {"none", "delta", "lz4", "zstd"},
                   .help = "How the sorted runs are stored on scratch: as they are (none), as differences of "
                           "neighbours (delta: only for rows of at most 16 bytes that are sorted whole, and cheap), or "
                           "compressed by lz4 or zstd (any rows; zstd makes them shorter, lz4 takes less of the "
                           "processor). It pays where the disks are slower than the processor. Each block of a run is "
                           "compressed by itself; those that don't get shorter are stored as they are. What is written "
                           "and read, and the space it takes, shrinks; memory and fan-in stay what they "
                           "are. The rows that come out are the same."}};
  d.memory = sort_memory;
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
