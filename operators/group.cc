// group: one row for each run of rows with equal keys, with aggregates of its rows.
//
// Arguments that are more than columns are computed in front by a program, in parallel with other batches and fused with what
// precedes it. The ordered stage behind it finds the group starts of a whole batch and then aggregates column by column, so
// the cost per row doesn't depend on how long groups are. Bounded memory: one row per open group, and there is only one.
#include <fmt/format.h>

#include <algorithm>

#include "operators/aggregation.h"
#include "operators/column_copy.h"
#include "operators/estimates.h"
#include "operators/registry.h"
#include "operators/row_groups.h"

namespace flowrun::operators {

namespace {

struct settings {
  std::vector<std::string> by;
  named_aggregates aggregates;
};

settings read(plan::node_checker& node) {
  settings out;
  out.by = node.columns("by");
  if (node.has("let")) out.aggregates = node.aggregates("let", expr::scope{.row = &node.input_type()});
  return out;
}

void check(plan::node_checker& node) {
  const settings s = read(node);
  if (!node.ok()) return;
  const record::row_type& input = node.input_type();
  std::vector<record::column> columns;
  std::vector<std::pair<std::string, std::string>> kept;
  for (const std::string& k : s.by) {
    columns.push_back(input[*input.index_of(k)]);
    kept.emplace_back(k, k);
  }
  for (const auto& [name, aggregate] : s.aggregates) {
    if (std::find(s.by.begin(), s.by.end(), name) != s.by.end())
      node.fault_at_parameter("let." + name, fmt::format("'{}' is a key of the group", name), "a name of its own");
    columns.push_back({name, aggregate.result});
  }
  if (columns.empty()) node.fault_at_node("a group needs keys or aggregates", "by: [column, …] or let: {name: aggregate, …}");
  if (!s.by.empty()) node.require_adjacent(0, s.by);
  if (!node.ok()) return;
  record::row_type output(std::move(columns));
  plan::row_estimate estimate = s.by.empty() ? exactly(1, output) : at_most(with_type(node.input_estimate(), input, output));
  node.set_output(0, std::move(output), plan::carried_over(node.input_order(), kept), estimate);
}

class group_stage final : public exec::ordered_stage {
 public:
  group_stage(exec::build_context& c, const aggregation_plan& p)
      : groups_(row_groups(p.rows, p.keys)),
        keys_(p.rows, c.output_type(), key_columns(p.keys)),
        aggregation_(p.aggregates, c.output_type(), p.keys.size()),
        builder_(c.output_type(), c.job.pool(), c.batch_bytes),
        row_bytes_(c.output_type().row_bytes()),
        one_group_(p.keys.empty()) {}

  exec::outcome push(record::batch& in, exec::output& out, waker&) override {
    const bool open = groups_.open();
    const record::batch before = groups_.last();
    const std::vector<uint32_t>& starts = groups_.add(in);
    aggregation_.add(in, starts, open);
    // All groups but the last are complete.
    const size_t complete = starts.size() - 2;
    for (size_t from = 0; from < complete;) {
      const size_t count = std::min(complete - from, num_rows_at_once());
      std::byte* to = builder_.append(count);
      for (size_t g = from; g < from + count; ++g) {
        const bool is_open = g == 0 && open;
        const record::batch& rows = is_open ? before : in;
        keys_.copy(rows.row(is_open ? 0 : starts[g]), rows.heap, to + (g - from) * row_bytes_, builder_);
      }
      aggregation_.store(from, count, to, builder_);
      from += count;
      if (builder_.full()) out.emit(builder_.take());
    }
    return exec::outcome::ready();
  }

  exec::outcome finish(exec::output& out, waker&) override {
    if (groups_.open() || one_group_) {
      std::byte* to = builder_.append();
      if (groups_.open()) keys_.copy(groups_.last().row(0), groups_.last().heap, to, builder_);
      aggregation_.store_open(to, builder_);
    }
    out.emit(builder_.take());
    return exec::outcome::done();
  }

 private:
  static std::vector<std::pair<size_t, size_t>> key_columns(const std::vector<size_t>& keys) {
    std::vector<std::pair<size_t, size_t>> out;
    for (size_t k : keys) out.emplace_back(k, out.size());
    return out;
  }
  // With strings a builder may be full before its rows are.
  size_t num_rows_at_once() const { return std::min<size_t>(builder_.room(), 256); }

  group_tracker groups_;
  column_copy keys_;
  aggregation aggregation_;
  record::batch_builder builder_;
  uint32_t row_bytes_;
  bool one_group_;
};

exec::assembly build(exec::build_context& c) {
  const settings s = read(c.params);
  const aggregation_plan p = plan_aggregation(c.input_type(), s.by, s.aggregates, false);
  exec::assembly out;
  if (!p.projection.empty()) out.stages.push_back(make_program(c.input_type(), {program_step::map(p.projection)}, c.job.pool()));
  out.stages.emplace_back(std::make_unique<group_stage>(c, p));
  return out;
}

exec::operator_definition define() {
  plan::operator_declaration d;
  d.name = "group";
  d.summary = "Makes one row of each group of rows with equal keys.";
  d.details =
      "Rows of a group must follow each other, as they do behind a sort by the keys (in any sequence). The output has the keys, "
      "then the aggregates of `let`: count(), sum(x), min(x), max(x), first(x), last(x), where x is any expression. sum gives u64, "
      "i64 or f64 and wraps around; min and max go by the order that a sort uses; first and last go by the order of the input.\n\n"
      "With `by: []` the whole input is one group, and the output has exactly one row, also for an empty input (0 and empty "
      "text then).";
  d.order = "needs: equal keys adjacent; keeps: the leading order columns that are keys";
  d.example = "degree: {op: group, in: sorted, with: {by: [src], let: {deg: \"count()\", far: \"max(dst)\"}}}\n";
  d.role = plan::operator_role::ordered;
  d.inputs = {{"in", "rows with equal keys next to each other"}};
  d.outputs = {{"out", "one row per group, in the order of the groups"}};
  d.parameters = {{.name = "by", .kind = plan::parameter_kind::columns, .required = true, .help = "The keys of a group; [] for all rows."},
                  {.name = "let",
                   .kind = plan::parameter_kind::aggregates,
                   .help = "The aggregates to add: {name: \"count()\" or sum, min, max, first, last of an expression}."}};
  d.check = check;
  return {std::move(d), build};
}

}  // namespace

const exec::operator_definition& group_operator() {
  static const exec::operator_definition definition = define();
  return definition;
}

}  // namespace flowrun::operators
