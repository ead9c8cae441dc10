#include "operators/parts/order/sorting.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "operators/parts/order/combining_keys.h"
#include "operators/parts/order/group_stages.h"
#include "operators/parts/order/ordered_cut.h"
#include "operators/parts/order/sort_stages.h"
#include "operators/parts/rules/estimates.h"
#include "operators/parts/rules/program.h"

namespace flowrun::operators {

namespace {

// Names that no user's column can have.
std::string hidden_column(size_t key) { return fmt::format("key[{}]", key); }

runs::compression compression_of(std::string_view name) {
  if (name == "delta") return runs::compression::delta;
  if (name == "lz4") return runs::compression::lz4;
  if (name == "zstd") return runs::compression::zstd;
  return runs::compression::none;
}

// What the rows are sorted by: the keys, and the value that a count of different ones puts together.
std::vector<plan::sort_key> all_keys(const sorting& s) {
  std::vector<plan::sort_key> out = s.keys;
  if (const expr::expression* const value = distinct_value(s.combine))
    out.push_back({*value, false, std::nullopt, {}, {}});
  return out;
}

}  // namespace

std::vector<plan::parameter_declaration> sorting_parameters() {
  return {{.name = "by",
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
                   "and x once; all count_distinct of a sort are of one x. Sums of floats beside it add by x; first, "
                   "last and averages of floats go by the order of the input and can't stand there."},
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
                   "compressed by lz4 or zstd (any rows; zstd makes them shorter, lz4 takes less of the processor). It "
                   "pays where the disks are slower than the processor. Each block of a run is compressed by itself; "
                   "those that don't get shorter are stored as they are. What is written and read, and the space it "
                   "takes, shrinks; memory and fan-in stay what they are. The rows that come out are the same."}};
}

sorting read_sorting(plan::node_checker& node, const record::row_type& rows, bool few) {
  sorting out;
  out.keys = node.sort_keys("by", expr::scope{.row = &rows});
  out.unique = node.boolean("unique");
  out.few = few;
  out.stable = node.boolean("stable");
  out.long_runs = node.text("runs") == "long";
  out.compress = compression_of(node.text("compress"));
  if (node.has("limit")) out.limit = node.integer("limit");
  if (node.has("combine")) out.combine = node.aggregates("combine", expr::scope{.row = &rows});
  // First and last mean the order of the input, which only a stable sort keeps.
  out.stable = out.stable || has_ordered(out.combine);
  return out;
}

sorted_rows plan_rows(const record::row_type& input, const sorting& s) {
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

plan::order order_of(const sorting& s) {
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
plan::order order_of_input(const record::row_type& input, const sorting& s) {
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

// Of run creation. The limit counts combined rows, which come out of the merge only.
sort::sort_settings creator_settings(const sorting& s, const sorted_rows& rows) {
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
sort::sort_settings merger_settings(const sorting& s, const sorted_rows& rows) {
  sort::sort_settings out = creator_settings(s, rows);
  if (!s.combine.empty()) out.limit = 0;
  return out;
}

void note_sort_facts(plan::node_checker& node, const sorting& s, const sorted_rows& rows) {
  const sort::sort_settings creating = creator_settings(s, rows);
  plan::sort_facts& facts = node.facts().sort;
  facts.limit_rows = creating.limit;
  facts.limited = s.limit > 0;
  facts.long_runs = s.long_runs;
  facts.compressed = s.compress != runs::compression::none;
  facts.drops_equal = s.unique || !s.combine.empty();
  facts.unique = s.unique;
  facts.indexed = !creating.narrow();
  if (!rows.projection.empty()) facts.row_bytes = rows.type.row_bytes();
  const plan::row_estimate estimate = node.input_estimate();
  if (estimate.known)
    facts.num_bytes = bytes_to_sort(rows.type, facts.indexed, with_type(estimate, node.input_type(), rows.type));
}

exec::assembly build_run_creation(exec::build_context& c, const sorting& s, const sorted_rows& rows) {
  exec::assembly out;
  if (!rows.projection.empty())
    out.stages.push_back(make_program(c.input_type(), {program_step::map(rows.projection)}, c.job.pool()));
  add_run_creation(out, c, creator_settings(s, rows), s.compress, rows.partial && s.few ? few_rows : UINT64_MAX);
  return out;
}

void add_combining(exec::assembly& to, exec::build_context& c, const sorting& s, const sorted_rows& rows) {
  if (rows.partial)
    add_total_stage(to, rows.type, s.keys.size(), rows.partial->totals, c.output_type(), c.job.pool(), c.batches);
  else
    add_group_stages(to, rows.type, rows.columns, s.combine, c.output_type(), c.job.pool(), c.batches);
  if (s.limit > 0) to.stages.push_back(make_ordered_cut(c.output_type(), repeats::none, {}, s.limit, c.job.pool()));
}

std::optional<sorted_rows> partial_rows(const record::row_type& input, const sorting& s) {
  if (s.combine.empty() || distinct_value(s.combine) != nullptr) return std::nullopt;
  sorting any = s;
  any.few = false;  // of all tasks together
  sorted_rows out = plan_rows(input, any);
  if (!out.partial) return std::nullopt;
  return out;
}

std::optional<sorted_rows> partial_rows(const plan::graph& g, const plan::node& n) {
  if (n.declaration->name != "sort" || n.elided) return std::nullopt;
  // Values of other streams would have to be where the second step is.
  if (!n.scalars.empty() || n.facts.names_row_number) return std::nullopt;
  return partial_rows(g.input_of(n, 0).type, n.settings.as<sorting>());
}

plan::order order_of_partial_rows(const sorted_rows& rows, const sorting& s) {
  plan::order out;
  for (size_t i = 0; i < s.keys.size(); ++i) out.push_back({rows.type[i].name, s.keys[i].descending});
  return out;
}

}  // namespace flowrun::operators
