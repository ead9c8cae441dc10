// partition: the rows by the number of their bucket, in each bucket in the order of the input.
//
//   [bucket of each row] ─▶ a page for each bucket, full ones stay or go to scratch | bucket 0, 1, 2, … ─▶ out
//
// One distribution pass of an out-of-core radix sort (ViC*, section 4.3): rows are copied, never compared. The
// paper's census before it isn't needed, since the blocks of a bucket may lie anywhere.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/container/external_buckets.h"
#include "engine/expr/conversion.h"
#include "engine/plan/stored_pass.h"
#include "operators/parts/order/sort_stages.h"
#include "operators/parts/order/stored_source.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

constexpr uint64_t most_buckets = 65536;

struct settings {
  std::optional<expr::expression> by;  // an integer
  uint32_t num_buckets = 1;
  void bind(const expr::scalar_values& values) { expr::bind(by, values); }
};

settings read(plan::node_checker& node) {
  settings out;
  out.by = node.expression("by", expr::scope{.row = &node.input_type(), .row_number = true});
  if (out.by && !out.by->type().is_integer())
    node.fault_at_parameter("by", fmt::format("'{}' is {}", out.by->text(), record::to_string(out.by->type())),
                            "an integer: the number of the bucket, from 0");
  else if (const auto u64 = record::value_type::of(record::type_kind::u64); out.by && !out.by->converted_to(u64))
    node.fault_at_parameter("by", expr::conversion_problem(*out.by, u64).message, "the number of the bucket, from 0");
  const uint64_t num_buckets = node.integer("buckets");
  if (num_buckets == 0 || num_buckets > most_buckets)
    node.fault_at_parameter("buckets", fmt::format("there can't be {} buckets", num_buckets),
                            fmt::format("a number from 1 to {}", most_buckets), "partition in several steps, or sort");
  else
    out.num_buckets = static_cast<uint32_t>(num_buckets);
  return out;
}

// Stable, so a bucket that is a column comes in front of the order that was there.
plan::order order_of(const plan::node_checker& node, const settings& s) {
  plan::order out;
  const std::optional<size_t> column = s.by->as_column();
  if (!column) return out;
  out.push_back({node.input_type()[*column].name});
  for (const plan::order_term& term : node.input_order())
    if (term.column != out.front().column) out.push_back(term);
  return out;
}

// Full pages stay in half of the memory (external_buckets.h), the others are written; those that aren't full at the end
// have room in the rest. A 64th for the headers of the smallest blocks, or what long rows leave free in theirs.
std::optional<plan::stored_pass> predict_pass(uint32_t num_buckets, const plan::row_estimate& rows,
                                              const plan::pass_memory& memory) {
  if (!rows.known) return std::nullopt;
  plan::stored_pass out;
  out.rows = rows.rows;
  out.num_bytes = rows.num_bytes;
  const uint64_t spilled = rows.num_bytes - std::min(rows.num_bytes, memory.kept_bytes / 2);
  const uint64_t average = rows.num_bytes / std::max<uint64_t>(rows.rows, 1);
  const container::external_buckets::settings how{num_buckets, memory.kept_bytes, memory.block_bytes};
  out.written_bytes =
      std::max(spilled + spilled / 64, container::external_buckets::written_pages(rows.num_bytes, average, how));
  out.loads = out.written_bytes > 0 ? 1 : 0;
  return out;
}

settings check(plan::node_checker& node) {
  settings s = read(node);
  if (!node.ok()) return s;
  node.facts().pass = [buckets = s.num_buckets](const plan::row_estimate& rows, const plan::pass_memory& memory) {
    return predict_pass(buckets, rows, memory);
  };
  if (node.input_estimate().known) node.facts().stored_bytes = node.input_estimate().num_bytes;
  node.set_output(0, node.input_type(), order_of(node, s), node.input_estimate());
  return s;
}

// Rows with the number of their bucket behind their columns go where they belong.
class distributing_stage final : public exec::ordered_stage {
 public:
  distributing_stage(const settings& s, const record::row_type& numbered, exec::build_context& c)
      : node_(c.node.id),
        num_buckets_(s.num_buckets),
        signed_(s.by->type().is_signed()),
        offset_(numbered.columns().back().offset),
        buckets_(std::make_unique<container::external_buckets>(
            c.input_type(), c.job.blocks(), c.job.pool(),
            container::external_buckets::settings{s.num_buckets, c.job.options().force_spill ? 0 : c.kept_bytes,
                                                  c.job.options().block_bytes})),
        state_(c.states[0]) {}

  outcome push(record::batch& in, exec::output&, waker& w) override {
    for (size_t i = 0; i < in.num_rows; ++i, ++num_rows_) {
      const uint64_t bucket = record::load_unsigned(in.row(i) + offset_, sizeof bucket);
      if (bucket >= num_buckets_) throw no_bucket(bucket);
      const outcome o = buckets_->push(static_cast<uint32_t>(bucket), in.row(i), in.heap, w);
      if (!o.is_blocked()) continue;
      in = in.slice(i, in.num_rows - i);
      return o;
    }
    return outcome::ready();
  }
  outcome finish(exec::output&, waker& w) override {
    if (const outcome o = buckets_->finish(w); o.is_blocked()) return o;
    state_ = buckets_->rows();
    buckets_.reset();
    return outcome::done();
  }

 private:
  error no_bucket(uint64_t bucket) const {
    const std::string number = signed_ ? fmt::format("{}", static_cast<int64_t>(bucket)) : fmt::format("{}", bucket);
    return error(error_kind::bad_data,
                 fmt::format("node '{}': row {} goes to bucket {}, but there are only buckets 0 to {}", node_,
                             num_rows_, number, num_buckets_ - 1),
                 "raise buckets, or compute a number in that range");
  }

  const std::string node_;
  const uint32_t num_buckets_;
  const bool signed_;
  const uint32_t offset_;
  std::unique_ptr<container::external_buckets> buckets_;
  uint64_t num_rows_ = 0;
  std::any& state_;
};

exec::assembly build(exec::build_context& c, const settings& s) {
  exec::assembly out;
  if (!c.is_intake()) {
    const auto rows = std::any_cast<std::shared_ptr<const container::stored_rows>>(c.states[0]);
    out.head = make_stored_source(std::make_unique<container::stored_reader>(
        rows, c.memory_bytes, container::direction::forward, c.batches.target_bytes));
    return out;
  }
  const auto u64 = record::value_type::of(record::type_kind::u64);
  const hidden_key numbered = with_hidden_key(c.input_type(), u64);
  named_expressions columns = identity(c.input_type());
  columns.emplace_back(hidden_key_column(), *s.by->converted_to(u64));
  out.stages.push_back(make_program(c.input_type(), {program_step::map(std::move(columns))}, c.job.pool()));
  out.stages.emplace_back(std::make_unique<distributing_stage>(s, numbered.type, c));
  return out;
}

plan::memory_wish memory(const plan::node& n, plan::node_part part) {
  plan::memory_wish wish = stored_memory(n, part);
  if (part != plan::node_part::intake) return wish;
  const uint64_t pages =
      container::external_buckets::least_memory(n.settings.as<settings>().num_buckets, n.outputs[0].type.row_bytes());
  wish.minimum = std::max(wish.minimum, pages);
  wish.maximum = std::max(wish.minimum, wish.maximum < UINT64_MAX / 8 ? 2 * wish.maximum + pages : wish.maximum);
  return wish;
}

}  // namespace

template <>
exec::operator_definition word<"partition">() {
  plan::operator_declaration d;
  d.name = "partition";
  d.summary = "Groups the rows by the number of a bucket, in the order of the numbers.";
  d.details =
      "All rows of bucket 0 come first, then those of bucket 1, and so on; the rows of a bucket keep the order of the "
      "input. It is one pass over the data, in which nothing is compared: the step of a radix sort, which partitions "
      "by the lowest digit of a key first. A number that is no bucket stops the job with an error that names the "
      "row.\n\n"
      "Each bucket has a page of at least 4 KiB while the rows come, so many buckets want memory.";
  d.order = "gives: by `by`, if that is a column, then the input's order; else none";
  d.example =
      "low:    {op: partition, in: drawn, with: {by: \"k & 255\", buckets: 256}}\n"
      "sorted: {op: partition, in: low, with: {by: \"k >> 8\", buckets: 256}}\n";
  d.role = plan::operator_role::meeting;
  d.inputs = {{.name = "in", .help = "the rows", .stored = true}};
  d.outputs = {{"out", "the same rows, bucket after bucket"}};
  d.parameters = {{.name = "by",
                   .kind = plan::parameter_kind::expression,
                   .required = true,
                   .help = "The number of the row's bucket, from 0: an integer."},
                  {.name = "buckets",
                   .kind = plan::parameter_kind::integer,
                   .required = true,
                   .help = "How many there are, at most 65536."}};
  d.memory = memory;
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
