#include "operators/parts/order/reduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/record/hash.h"
#include "engine/record/value_text.h"

namespace flowrun::operators {

namespace {

constexpr const char* hash_columns[] = {"hash_low", "hash_high"};

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

aggregation_plan plan_of(const reduction& r) { return plan_aggregation(r.rows, {}, r.aggregates, r.hash); }

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

// What total_stage adds up, and what it gives.
struct total_options {
  bool partial = false;  // rows are partial results
  bool hash = false;
  bool gives_parts =
      false;  // the row is one of partial results, too: nobody is told of it, and of no rows there is none
};

// Adds up rows: the input's own, or partial results.
class total_stage final : public exec::ordered_stage {
 public:
  total_stage(exec::build_context& c, std::vector<column_aggregate> aggregates, total_options options)
      : aggregation_(std::move(aggregates), c.output_type(), 0, c.job.pool(), c.batches.row_bytes),
        output_(c.output_type()),
        builder_(c.output_type(), c.job.pool(), {1, c.batches.row_bytes}),
        job_(c.job),
        node_(c.node.id),
        options_(options) {
    if (options_.hash && !options_.partial) hasher_.emplace(c.input_type());
  }

  outcome push(record::batch& in, exec::output&, waker&) override {
    aggregation_.add(in, {0, static_cast<uint32_t>(in.num_rows)}, open_);
    open_ = true;
    if (hasher_) sum_ += hasher_->hash(in).sum;
    if (options_.hash && options_.partial)
      for (size_t i = 0; i < in.num_rows; ++i) sum_ += load_hash(in.row(i), in.row_bytes);
    return outcome::ready();
  }

  outcome finish(exec::output& out, waker&) override {
    if (options_.gives_parts && !open_) return outcome::done();
    std::byte* row = builder_.append();
    aggregation_.store_open(row, builder_);
    if (options_.hash) store_hash(sum_, row, output_.row_bytes());
    const record::batch result = builder_.take();
    if (!options_.gives_parts) report(result);
    out.emit(result);
    return outcome::done();
  }

 private:
  void report(const record::batch& result) {
    const size_t num_aggregates = output_.num_columns() - (options_.hash ? std::size(hash_columns) : 0);
    for (size_t i = 0; i < num_aggregates; ++i)
      job_.report_value(node_, output_[i].name,
                        record::whole_value_text(output_[i].type, result.rows + output_[i].offset, result.heap));
    if (options_.hash) job_.report_value(node_, "hash", record::to_string(sum_));
  }

  aggregation aggregation_;
  const record::row_type& output_;
  record::batch_builder builder_;
  exec::services& job_;
  std::string node_;
  const total_options options_;
  bool open_ = false;
  std::optional<record::row_hasher> hasher_;
  record::word128 sum_ = 0;
};

}  // namespace

reduction read_reduction(plan::node_checker& node, record::row_type rows) {
  reduction out;
  if (node.has("let")) out.aggregates = node.aggregates("let", expr::scope{.row = &rows});
  out.hash = node.boolean("hash");
  out.rows = std::move(rows);
  if (!node.ok()) return out;
  for (const auto& [name, aggregate] : out.aggregates)
    if (out.hash && std::find(std::begin(hash_columns), std::end(hash_columns), name) != std::end(hash_columns))
      node.fault_at_parameter("let." + name, fmt::format("'{}' is a column that `hash` adds", name),
                              "a name of its own");
  return out;
}

std::vector<plan::parameter_declaration> reduction_parameters() {
  return {{.name = "let",
           .kind = plan::parameter_kind::aggregates,
           .help = "The aggregates: {name: \"count()\" or sum, min, max, first, last of an expression}."},
          {.name = "hash",
           .kind = plan::parameter_kind::boolean,
           .default_text = "false",
           .help = "Adds the order-independent hash of all rows."}};
}

record::row_type result_type(const reduction& r) {
  std::vector<record::column> columns;
  for (const auto& [name, aggregate] : r.aggregates) columns.push_back({name, aggregate.result});
  if (r.hash)
    for (const char* name : hash_columns) columns.push_back({name, record::value_type::of(record::type_kind::u64)});
  return record::row_type(std::move(columns));
}

record::row_type partial_type(const reduction& r) { return partial_type(plan_of(r).aggregates, result_type(r)); }

bool reduces_in_two_steps(const plan::graph& g, const plan::node& n) {
  if (n.declaration->name != "reduce" || n.inputs.size() != 1) return false;
  // Values of other streams would have to be where the second step is.
  if (!n.scalars.empty() || n.facts.names_row_number) return false;
  const auto& r = n.settings.as<reduction>();
  return g.input_of(n, 0).type == r.rows && can_combine(plan_of(r).aggregates);
}

exec::assembly build_reduction(exec::build_context& c, const reduction& r, reduction_step step) {
  const aggregation_plan p = plan_of(r);
  const bool partial = can_combine(p.aggregates);
  exec::assembly out;
  const record::row_type parts = partial_type(p.aggregates, result_type(r));
  if (step != reduction_step::total) {
    if (!p.projection.empty())
      out.stages.push_back(make_program(r.rows, {program_step::map(p.projection)}, c.job.pool()));
    if (partial) out.stages.emplace_back(std::make_unique<partial_stage>(c, p, parts, r.hash));
  }
  std::vector<column_aggregate> aggregates =
      step == reduction_step::parts ? partial_aggregates(p.aggregates) : p.aggregates;
  if (partial) aggregates = combining(aggregates, parts, 0);
  out.stages.emplace_back(std::make_unique<total_stage>(
      c, std::move(aggregates),
      total_options{.partial = partial, .hash = r.hash, .gives_parts = step == reduction_step::parts}));
  return out;
}

}  // namespace flowrun::operators
