// reduce: one row of aggregates over a whole stream.
//
// Each batch is reduced to one row of partial results by a stateless stage, in parallel; an ordered stage combines
// these rows. Integers, min, max, first and last combine exactly. A sum of floats depends on the order of its
// additions: with one, the ordered stage adds row after row, so that the result is a function of the input alone. The
// hash of rows is a sum modulo 2^128.
#include <fmt/format.h>

#include <algorithm>

#include "engine/record/hash.h"
#include "operators/parts/order/aggregation.h"
#include "operators/parts/order/distinct_values.h"
#include "operators/parts/rules/estimates.h"
#include "operators/parts/text/value_text.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

constexpr const char* hash_columns[] = {"hash_low", "hash_high"};

struct settings {
  named_aggregates aggregates;
  bool hash = false;
  void bind(const expr::scalar_values& values) { expr::bind(aggregates, values); }
};

settings read(plan::node_checker& node) {
  settings out;
  if (node.has("let")) out.aggregates = node.aggregates("let", expr::scope{.row = &node.input_type()});
  out.hash = node.boolean("hash");
  return out;
}

settings check(plan::node_checker& node) {
  settings s = read(node);
  if (!node.ok()) return s;
  std::vector<record::column> columns;
  for (const auto& [name, aggregate] : s.aggregates) columns.push_back({name, aggregate.result});
  if (s.hash) {
    for (const char* name : hash_columns) {
      if (std::any_of(columns.begin(), columns.end(), [&](const record::column& c) { return c.name == name; }))
        node.fault_at_parameter(std::string("let.") + name, fmt::format("'{}' is a column that `hash` adds", name),
                                "a name of its own");
      columns.push_back({name, record::value_type::of(record::type_kind::u64)});
    }
  }
  require_equal_values_together(node, "let", {}, s.aggregates);
  if (columns.empty()) node.fault_at_node("a reduce needs aggregates", "let: {name: aggregate, …} or hash: true");
  if (!node.ok()) return s;
  record::row_type output(std::move(columns));
  const plan::row_estimate estimate = exactly(1, output);
  node.set_output(0, std::move(output), {}, estimate);
  return s;
}

// Puts the row hash's halves behind the aggregates.
void store_hash(record::word128 sum, std::byte* row, uint32_t row_bytes) {
  const uint64_t halves[] = {static_cast<uint64_t>(sum), static_cast<uint64_t>(sum >> 64)};
  std::memcpy(row + row_bytes - sizeof halves, halves, sizeof halves);
}
record::word128 load_hash(const std::byte* row, uint32_t row_bytes) {
  uint64_t halves[2];
  std::memcpy(halves, row + row_bytes - sizeof halves, sizeof halves);
  return static_cast<record::word128>(halves[1]) << 64 | halves[0];
}

// The columns of partial results: those of the output, with states for aggregates of plugins.
record::row_type partial_type(const std::vector<column_aggregate>& aggregates, const record::row_type& output) {
  std::vector<record::column> columns = output.columns();
  const std::vector<column_aggregate> parts = partial_aggregates(aggregates);
  for (size_t i = 0; i < parts.size(); ++i) columns[i].type = parts[i].result;
  return record::row_type(std::move(columns));
}

// One row of partial results per batch. The input row is the first part of what it sees, if there is a hash.
class partial_stage final : public exec::stateless_stage {
 public:
  partial_stage(exec::build_context& c, const aggregation_plan& p, record::row_type partial, bool hash)
      : aggregates_(partial_aggregates(p.aggregates)), output_(std::move(partial)), pool_(c.job.pool()) {
    if (hash) hasher_.emplace(c.input_type());
  }

  void apply(const record::batch& in, exec::output& out) const override {
    aggregation parts(aggregates_, output_, 0, pool_, out.limits().row_bytes);
    record::batch_builder builder(output_, pool_, {1, out.limits().row_bytes});
    std::byte* row = builder.append();
    parts.store_all(in, row, builder);
    if (hasher_) store_hash(hasher_->hash(in).sum, row, output_.row_bytes());
    out.emit(builder.take());
  }

 private:
  std::vector<column_aggregate> aggregates_;
  const record::row_type output_;
  record::batch_pool& pool_;
  std::optional<record::row_hasher> hasher_;
};

// Adds up rows: the input's own, or partial results.
class total_stage final : public exec::ordered_stage {
 public:
  total_stage(exec::build_context& c, std::vector<column_aggregate> aggregates, bool partial, bool hash)
      : aggregation_(std::move(aggregates), c.output_type(), 0, c.job.pool(), c.batches.row_bytes),
        output_(c.output_type()),
        builder_(c.output_type(), c.job.pool(), {1, c.batches.row_bytes}),
        job_(c.job),
        node_(c.node.id),
        partial_(partial),
        hash_(hash) {
    if (hash && !partial) hasher_.emplace(c.input_type());
  }

  outcome push(record::batch& in, exec::output&, waker&) override {
    aggregation_.add(in, {0, static_cast<uint32_t>(in.num_rows)}, open_);
    open_ = true;
    if (hasher_) sum_ += hasher_->hash(in).sum;
    if (hash_ && partial_)
      for (size_t i = 0; i < in.num_rows; ++i) sum_ += load_hash(in.row(i), in.row_bytes);
    return outcome::ready();
  }

  outcome finish(exec::output& out, waker&) override {
    std::byte* row = builder_.append();
    aggregation_.store_open(row, builder_);
    if (hash_) store_hash(sum_, row, output_.row_bytes());
    const record::batch result = builder_.take();
    const size_t num_aggregates = output_.num_columns() - (hash_ ? std::size(hash_columns) : 0);
    for (size_t i = 0; i < num_aggregates; ++i)
      job_.report_value(node_, output_[i].name,
                        value_text(output_[i].type, result.rows + output_[i].offset, result.heap));
    if (hash_) job_.report_value(node_, "hash", record::to_string(sum_));
    out.emit(result);
    return outcome::done();
  }

 private:
  aggregation aggregation_;
  const record::row_type& output_;
  record::batch_builder builder_;
  exec::services& job_;
  std::string node_;
  bool partial_;  // rows are partial results
  bool hash_;
  bool open_ = false;
  std::optional<record::row_hasher> hasher_;
  record::word128 sum_ = 0;
};

exec::assembly build(exec::build_context& c, const settings& s) {
  const aggregation_plan p = plan_aggregation(c.input_type(), {}, s.aggregates, s.hash);
  const bool partial = can_combine(p.aggregates);
  exec::assembly out;
  if (!p.projection.empty())
    out.stages.push_back(make_program(c.input_type(), {program_step::map(p.projection)}, c.job.pool()));
  const record::row_type parts = partial_type(p.aggregates, c.output_type());
  if (partial) out.stages.emplace_back(std::make_unique<partial_stage>(c, p, parts, s.hash));
  const std::vector<column_aggregate> aggregates = partial ? combining(p.aggregates, parts, 0) : p.aggregates;
  out.stages.emplace_back(std::make_unique<total_stage>(c, aggregates, partial, s.hash));
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"reduce">() {
  plan::operator_declaration d;
  d.name = "reduce";
  d.summary = "Reduces a stream to one row of aggregates.";
  d.details =
      "The aggregates are those of group: count(), sum(x), avg(x), min(x), max(x), first(x), last(x), variance(x), "
      "stddev(x), count_distinct(x), "
      "approx_count_distinct(x), approx_quantile(x, q). count_distinct takes a column by which the input is sorted. "
      "With `hash: true` two "
      "columns "
      "hash_low and hash_high are added: a 128-bit hash of the rows that doesn't depend on their order, to compare two "
      "streams. "
      "The values also appear in the run report, so the output need not be used. An empty input gives 0 and empty "
      "text, and NaN for a mean.";
  d.order = "needs: none; gives: one row";
  d.example = "totals: {op: reduce, in: edges, with: {let: {edges: \"count()\", largest: \"max(dst)\"}, hash: true}}\n";
  d.role = plan::operator_role::ordered;
  d.reports = true;
  d.inputs = {{"in", "the rows to add up"}};
  d.outputs = {{"out", "one row"}};
  d.output_optional = true;
  d.parameters = {{.name = "let",
                   .kind = plan::parameter_kind::aggregates,
                   .help = "The aggregates: {name: \"count()\" or sum, min, max, first, last of an expression}."},
                  {.name = "hash",
                   .kind = plan::parameter_kind::boolean,
                   .default_text = "false",
                   .help = "Adds the order-independent hash of all rows."}};
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
