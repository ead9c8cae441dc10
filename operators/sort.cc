// sort: the operator that flowrun exists for. This file only connects: keys and options from the declaration to run
// creation and merging in engine/sort, as the sink of one pipeline and the source of the next (decision D4).
//
//   [hidden key columns, or partial results] ─▶ prepare ─▶ run_creator
//   run_merger ─▶ refine ─▶ [unique, combine, limit] ─▶ [without hidden columns]
//
// Keys that are more than a column (or a slice of one) are computed into hidden columns first and dropped behind. A
// sort that combines sorts partial results where it can (sort_combine.h).
#include <fmt/format.h>

#include "operators/parts/order/combining_keys.h"
#include "operators/parts/order/group_stages.h"
#include "operators/parts/order/ordered_cut.h"
#include "operators/parts/order/sort_stages.h"
#include "operators/parts/order/sorting.h"
#include "operators/parts/rules/estimates.h"
#include "operators/parts/rules/program.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

// Of an elided sort: all its keys are columns.
sort::sort_settings passing_rows(const record::row_type& input, const sorting& s) {
  sort::sort_settings out;
  out.type = input;
  for (const plan::order_term& term : order_of_input(input, s))
    out.key.push_back({*input.index_of(term.column), term.descending, term.from, term.length});
  return out;
}

void check_combine(plan::node_checker& node, const sorting& s) {
  check_combining_keys(node, s.keys, s.combine);
  if (s.unique)
    node.fault_at_parameter("unique", "a sort that combines leaves one row of each key anyway", {}, "leave out unique");
}

// Why rows are not sorted as numbers, and what would change that; empty if nothing would.
struct index_reason {
  std::string why;
  std::string way_out;
};
index_reason why_sorted_by_index(plan::node_checker& node, const sorting& s, const sorted_rows& rows) {
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
void check_sorted_whole(plan::node_checker& node, const sorting& s) {
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

sorting check(plan::node_checker& node) {
  sorting s = read_sorting(node, node.input_type(), node.input_estimate().most_rows <= few_rows);
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
  note_sort_facts(node, s, rows);
  if (node.node().elided || node.facts().sort.drops_equal) node.facts().needs.push_back({0, s.keys.size()});
  plan::row_estimate estimate = node.input_estimate();
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

exec::assembly build_merger(exec::build_context& c, const sorting& s, const sorted_rows& rows) {
  exec::assembly out;
  add_merge(out, c, merger_settings(s, rows), s.compress);
  const repeats where = s.unique ? repeats::at_batch_starts : repeats::none;  // slices may repeat each other's last row
  if (!s.combine.empty())
    add_combining(out, c, s, rows);
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

exec::assembly build(exec::build_context& c, const sorting& s) {
  if (c.node.elided) {
    exec::assembly out;
    sorted_rows rows;
    rows.type = c.input_type();
    rows.key = passing_rows(c.input_type(), s).key;
    for (const plan::sort_key& k : s.keys) rows.columns.push_back(k.term->column);
    add_order_check(out, c, passing_rows(c.input_type(), s));
    if (!s.combine.empty())
      add_combining(out, c, s, rows);
    else
      out.stages.push_back(
          make_ordered_cut(rows.type, s.unique ? repeats::anywhere : repeats::none, rows.key, s.limit, c.job.pool()));
    return out;
  }
  const sorted_rows rows = plan_rows(c.input_type(), s);
  return c.is_intake() ? build_run_creation(c, s, rows) : build_merger(c, s, rows);
}

}  // namespace

template <>
exec::operator_definition word<"sort">() {
  plan::operator_declaration d;
  d.name = "sort";
  d.summary = "Sorts the rows, on scratch when they don't fit in memory.";
  d.details =
      "Unsigned and signed integers sort by value, floats by IEEE 754 totalOrder (-NaN < -inf < … < -0.0 < +0.0 < … < "
      "inf < NaN), bytes[N] and string byte by byte (locale C), a shorter string before its extensions.\n\n"
      "Rows with equal keys: with `stable` they keep the order of the input. Without it their order is a function of "
      "the input and the job alone, the same with any number of threads, any memory and any disks, and no other order "
      "is promised: where it matters, name more keys or say stable. So sorts may do what is fastest (rows of at most "
      "16 bytes are sorted as whole numbers, and their remaining bytes happen to decide).\n\n"
      "A sort whose input is already sorted by its keys (behind another sort, or with `sorted_by` declared at a file) "
      "is left out. What fits in memory is never written to scratch.";
  d.order = "needs: nothing; gives: by";
  d.example = "top: {op: sort, in: degrees, with: {by: [-deg, src], limit: 10}}\n";
  d.role = plan::operator_role::breaker;
  d.division = plan::operator_division::sorting;
  d.inputs = {{"in", "the rows to sort"}};
  d.outputs = {{"out", "the rows in order"}};
  d.parameters = sorting_parameters();
  d.memory = sort_memory;
  return exec::define<sorting>(std::move(d), check, build);
}

}  // namespace flowrun::operators
