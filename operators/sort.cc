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
#include <any>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/sort/run_creator.h"
#include "engine/sort/run_merger.h"
#include "operators/estimates.h"
#include "operators/group_stages.h"
#include "operators/ordered_cut.h"
#include "operators/program.h"
#include "operators/registry.h"
#include "operators/sort_combine.h"

namespace flowrun::operators {

namespace {

// Names that no user's column can have.
std::string hidden_column(size_t key) { return fmt::format("key[{}]", key); }

struct settings {
  std::vector<plan::sort_key> keys;
  bool unique = false;
  bool stable = false;
  bool long_runs = false;
  sort::compression compress = sort::compression::none;
  uint64_t limit = 0;
  named_aggregates combine;
  std::vector<std::string> columns;  // of the keys, for combine
};

sort::compression compression_of(std::string_view name) {
  if (name == "delta") return sort::compression::delta;
  if (name == "lz4") return sort::compression::lz4;
  if (name == "zstd") return sort::compression::zstd;
  return sort::compression::none;
}

settings read(plan::node_checker& node) {
  settings out;
  out.keys = node.sort_keys("by", expr::scope{.row = &node.input_type()});
  out.unique = node.boolean("unique");
  out.stable = node.boolean("stable");
  out.long_runs = node.text("runs") == "long";
  out.compress = compression_of(node.text("compress"));
  if (node.has("limit")) out.limit = node.integer("limit");
  if (node.has("combine")) out.combine = node.aggregates("combine", expr::scope{.row = &node.input_type()});
  for (const plan::sort_key& k : out.keys)
    if (k.term && k.term->length == 0) out.columns.push_back(k.term->column);
  // First and last mean the order of the input, which only a stable sort keeps.
  for (const auto& [name, aggregate] : out.combine)
    out.stable |= aggregate.kind == expr::aggregate_kind::first || aggregate.kind == expr::aggregate_kind::last;
  return out;
}

plan::order order_of(const settings& s) {
  plan::order out;
  for (const plan::sort_key& k : s.keys) {
    if (!k.term) break;  // what a computed key orders can't be named
    out.push_back(*k.term);
  }
  return out;
}

// The rows that are sorted: the input's columns and the hidden keys, or partial results.
struct sorted_rows {
  named_expressions projection;  // empty: the input as it is
  record::row_type type;
  record::key key;
  std::optional<partial_results> partial;
};

// `few`: there are at most few_rows.
sorted_rows plan_rows(const record::row_type& input, const settings& s, bool few) {
  sorted_rows out;
  out.type = input;
  const bool columns_only = s.columns.size() == s.keys.size();
  if (!s.combine.empty() && columns_only) out.partial = plan_partial_results(input, s.columns, s.combine, few);
  if (out.partial) {
    out.projection = out.partial->projection;
    out.type = out.partial->type;
    for (const plan::sort_key& k : s.keys) out.key.push_back({*out.type.index_of(k.term->column), k.descending, 0, 0});
    return out;
  }
  for (size_t i = 0; i < s.keys.size(); ++i) {
    const plan::sort_key& k = s.keys[i];
    if (k.term) {
      out.key.push_back({*input.index_of(k.term->column), k.descending, k.term->from, k.term->length});
      continue;
    }
    if (out.projection.empty()) out.projection = identity(input);
    out.key.push_back({out.projection.size(), k.descending, 0, 0});
    out.projection.emplace_back(hidden_column(i), k.value);
  }
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
  if (s.combine.empty() || (rows.partial && !s.long_runs)) out.limit = s.limit;
  return out;
}
sort::sort_settings merger_settings(const settings& s, const sorted_rows& rows) {
  sort::sort_settings out = creator_settings(s, rows);
  if (!s.combine.empty()) out.limit = 0;
  return out;
}

// What the rows take while they are sorted: as words, or with an index of 16 bytes each.
uint64_t bytes_in_memory(const record::row_type& type, bool indexed, const plan::row_estimate& estimate) {
  if (indexed) return estimate.num_bytes + 16 * estimate.rows;
  return estimate.rows * (type.row_bytes() <= 8 ? 8 : 16);
}

void check_combine(plan::node_checker& node, const settings& s) {
  if (s.columns.size() != s.keys.size())
    node.fault_at_parameter("by", "a sort that combines needs whole columns as keys", "column or -column",
                            "compute the key as a column with a map in front of the sort");
  if (s.unique)
    node.fault_at_parameter("unique", "a sort that combines leaves one row of each key anyway", {}, "leave out unique");
  for (auto k = s.columns.begin(); k != s.columns.end(); ++k)
    if (std::find(s.columns.begin(), k, *k) != k)
      node.fault_at_parameter("by", fmt::format("'{}' is a key twice", *k), {}, "leave out the second one");
  for (const auto& [name, aggregate] : s.combine)
    if (std::find(s.columns.begin(), s.columns.end(), name) != s.columns.end())
      node.fault_at_parameter("combine." + name, fmt::format("'{}' is a key of the sort", name), "a name of its own");
}

bool has_few_rows(const plan::node_checker& node) {
  const plan::row_estimate& estimate = node.input_estimate();
  return estimate.known && estimate.rows <= few_rows;
}

// Why rows are not sorted as numbers, and how they could be (perhaps empty: not at all).
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
  if (s.stable)
    return {"a stable sort keeps them in the order of the input",
            node.boolean("stable") ? ", or stable" : ", or first and last"};
  return {"with unique, the order of the input decides which one stays", ", or make all columns keys"};
}

// Long runs are made of rows that are sorted as numbers, and those are what has differences.
void check_sorted_whole(plan::node_checker& node, const settings& s) {
  const sorted_rows rows = plan_rows(node.input_type(), s, has_few_rows(node));
  if (creator_settings(s, rows).narrow()) return;
  const index_reason reason = why_sorted_by_index(node, s, rows);
  if (s.long_runs)
    node.fault_at_parameter("runs",
                            fmt::format("long runs need rows of at most 16 bytes, sorted whole; {}", reason.why),
                            "halves", "leave out runs" + reason.way_out);
  if (s.compress == sort::compression::delta)
    node.fault_at_parameter("compress",
                            fmt::format("delta needs rows of at most 16 bytes, sorted whole; {}", reason.why),
                            "lz4, zstd, none", "lz4 (fast) and zstd (shorter) compress rows of any kind");
}

void check(plan::node_checker& node) {
  const settings s = read(node);
  if (node.has("limit") && s.limit == 0)
    node.fault_at_parameter("limit", "a limit of 0 leaves no rows", "a number from 1 on",
                            "leave it out to keep all rows");
  if (s.keys.empty() && node.ok()) node.fault_at_parameter("by", "no key is given", "[column, -column, …]");
  if (!s.combine.empty()) check_combine(node, s);
  if (node.ok()) check_sorted_whole(node, s);
  if (!node.ok()) return;
  const plan::order gives = order_of(s);
  const bool columns_only = gives.size() == s.keys.size();
  node.node().elided = columns_only && plan::satisfies(node.input_order(), gives);
  const sorted_rows rows = plan_rows(node.input_type(), s, has_few_rows(node));
  const sort::sort_settings creating = creator_settings(s, rows);
  if (creating.limit > 0) node.node().facts["limit"] = creating.limit;
  if (s.long_runs) node.node().facts["long_runs"] = 1;
  if (s.compress != sort::compression::none) node.node().facts["compressed"] = 1;
  if (s.unique || !s.combine.empty()) node.node().facts["dedups"] = 1;
  plan::row_estimate estimate = node.input_estimate();
  const bool indexed = !creating.narrow();
  if (indexed) node.node().facts["indexed"] = 1;
  if (rows.partial) {
    node.node().facts["partial_row_bytes"] = rows.type.row_bytes();
    if (has_few_rows(node)) node.node().facts["few_rows"] = 1;
  }
  const record::row_type& sorted = rows.partial ? rows.type : node.input_type();
  if (estimate.known)
    node.node().facts["sorted_bytes"] =
        bytes_in_memory(sorted, indexed, with_type(estimate, node.input_type(), sorted));
  record::row_type output = node.input_type();
  if (!s.combine.empty()) {
    output = group_type(node.input_type(), s.columns, s.combine);
    estimate = with_type(estimate, node.input_type(), output);
  }
  if (s.unique || !s.combine.empty()) estimate = at_most(estimate);
  if (s.limit > 0 && estimate.known && estimate.rows > s.limit) {
    estimate.num_bytes = estimate.num_bytes / estimate.rows * s.limit;
    estimate.rows = s.limit;
  }
  // An elided sort leaves the rows as they are, which may be sorted by more than was asked for.
  const bool as_it_was = node.node().elided && s.combine.empty();
  node.set_output(0, std::move(output), as_it_was ? node.input_order() : gives, estimate);
}

sort::sort_resources resources_of(exec::build_context& c, const settings& s, const sorted_rows& rows) {
  sort::sort_resources out;
  exec::services* job = &c.job;
  out.blocks = &job->blocks();
  out.pool = &job->pool();
  out.post = [job](std::function<void()> work) { job->spawn(std::move(work)); };
  out.cancelled = [job] { return job->cancelled(); };
  out.memory_bytes = c.memory_bytes;
  out.kept_bytes = c.kept_bytes;
  out.threads = job->threads();
  out.coding = {s.compress, rows.type.row_bytes()};
  return out;
}

class prepare_stage final : public exec::stateless_stage {
 public:
  explicit prepare_stage(std::shared_ptr<sort::run_creator> creator) : creator_(std::move(creator)) {}
  void apply(const record::batch& in, exec::output& out) const override {
    std::vector<record::batch> prepared;
    creator_->prepare(in, prepared);
    out.emit(prepared);
  }

 private:
  std::shared_ptr<sort::run_creator> creator_;
};

// What the sink half leaves for the source half.
struct hand_over {
  std::shared_ptr<sort::sorted_runs> runs;
  uint32_t block_bytes = 0;
};

class creator_stage final : public exec::ordered_stage {
 public:
  creator_stage(std::shared_ptr<sort::run_creator> creator, uint32_t block_bytes, exec::build_context& c)
      : creator_(std::move(creator)),
        block_bytes_(block_bytes),
        rows_left_(c.node.facts.contains("few_rows") ? few_rows : UINT64_MAX),
        state_(c.state),
        counters_(c.counters) {}

  exec::outcome push(record::batch& in, exec::output&, waker& w) override {
    if (in.num_rows > rows_left_)
      throw error(error_kind::bad_data, fmt::format("there are more than {} rows, against what was planned", few_rows),
                  "did an input grow? Run the job again");
    const size_t num_rows = in.num_rows;
    const sort::step s = creator_->push(in, w);
    rows_left_ -= num_rows - (s == sort::step::ready ? 0 : in.num_rows);
    return s == sort::step::ready ? exec::outcome::ready() : exec::outcome::blocked(exec::blocked_on::io);
  }
  exec::outcome finish(exec::output&, waker& w) override {
    if (creator_->finish(w) != sort::step::done) return exec::outcome::blocked(exec::blocked_on::io);
    auto runs = std::make_shared<sort::sorted_runs>(creator_->take());
    counters_.runs = runs->runs.size();
    for (const sort::run& r : runs->runs) {
      counters_.run_bytes += r.blocks.size() * uint64_t{r.block_bytes};
      counters_.stored_run_bytes += r.stored_bytes();
    }
    state_ = hand_over{std::move(runs), block_bytes_};
    return exec::outcome::done();
  }

 private:
  std::shared_ptr<sort::run_creator> creator_;
  const uint32_t block_bytes_;
  uint64_t rows_left_;  // for which sums have room
  std::any& state_;
  exec::node_counters& counters_;
};

class merger_source final : public exec::source {
 public:
  explicit merger_source(std::shared_ptr<sort::run_merger> merger) : merger_(std::move(merger)) {}
  exec::outcome pull(exec::output& out, waker& w) override {
    std::vector<record::batch> raw;
    const sort::step s = merger_->pull(raw, w);
    out.emit(raw);
    if (s == sort::step::ready) return exec::outcome::ready();
    return s == sort::step::done ? exec::outcome::done() : exec::outcome::blocked(exec::blocked_on::io);
  }

 private:
  std::shared_ptr<sort::run_merger> merger_;
};

class refine_stage final : public exec::stateless_stage {
 public:
  explicit refine_stage(std::shared_ptr<sort::run_merger> merger) : merger_(std::move(merger)) {}
  void apply(const record::batch& in, exec::output& out) const override {
    std::vector<record::batch> rows;
    merger_->refine(in, rows);
    out.emit(rows);
  }

 private:
  std::shared_ptr<sort::run_merger> merger_;
};

exec::assembly build_creator(exec::build_context& c, const settings& s, const sorted_rows& rows) {
  exec::assembly out;
  if (!rows.projection.empty())
    out.stages.push_back(make_program(c.input_type(), {program_step::map(rows.projection)}, c.job.pool()));
  sort::sort_resources resources = resources_of(c, s, rows);
  resources.block_bytes = static_cast<uint32_t>(c.sort->block_bytes);
  resources.write_buffers = static_cast<unsigned>(c.sort->write_buffers);
  resources.runs_per_half = static_cast<unsigned>(c.sort->runs_per_half);
  sort::sort_settings sorting = creator_settings(s, rows);
  sorting.force_spill = c.job.options().force_spill;
  std::shared_ptr<sort::run_creator> creator = sort::make_run_creator(sorting, resources);
  out.stages.emplace_back(std::make_unique<prepare_stage>(creator));
  out.stages.emplace_back(std::make_unique<creator_stage>(creator, resources.block_bytes, c));
  return out;
}

void combine(exec::assembly& to, exec::build_context& c, const settings& s,
             const std::optional<partial_results>& partial) {
  if (partial)
    add_total_stage(to, partial->type, s.columns.size(), partial->totals, c.output_type(), c.job.pool(), c.batch_bytes);
  else
    add_group_stages(to, c.input_type(), s.columns, s.combine, c.output_type(), c.job.pool(), c.batch_bytes);
  if (s.limit > 0) to.stages.push_back(make_ordered_cut(c.output_type(), repeats::none, {}, s.limit));
}

exec::assembly build_merger(exec::build_context& c, const settings& s, const sorted_rows& rows) {
  exec::assembly out;
  const auto given = std::any_cast<hand_over>(std::exchange(c.state, {}));
  sort::sort_resources resources = resources_of(c, s, rows);
  resources.block_bytes = given.block_bytes;
  const sort::sort_settings sorting = merger_settings(s, rows);
  std::shared_ptr<sort::run_merger> merger =
      sort::make_run_merger(sorting, resources, std::move(*given.runs), c.batch_bytes);
  c.counters.fan_in = merger->fan_in();
  c.counters.merge_passes = merger->merge_passes();
  out.head = std::make_unique<merger_source>(merger);
  out.stages.emplace_back(std::make_unique<refine_stage>(merger));
  const repeats where = s.unique ? repeats::at_batch_starts : repeats::none;  // slices may repeat each other's last row
  if (!s.combine.empty())
    combine(out, c, s, rows.partial);
  else if (where != repeats::none || s.limit > 0)
    out.stages.push_back(make_ordered_cut(rows.type, where, rows.key, s.limit));
  if (!rows.projection.empty() && !rows.partial) {
    named_expressions original;
    for (size_t i = 0; i < c.output_type().num_columns(); ++i)
      original.emplace_back(c.output_type()[i].name, expr::column_expression(rows.type, i));
    out.stages.push_back(make_program(rows.type, {program_step::map(original)}, c.job.pool()));
  }
  return out;
}

exec::assembly build(exec::build_context& c) {
  const settings s = read(c.params);
  const sorted_rows rows = plan_rows(c.input_type(), s, c.node.facts.contains("few_rows"));
  if (c.node.elided) {
    exec::assembly out;
    if (!s.combine.empty())
      combine(out, c, s, {});
    else
      out.stages.push_back(
          make_ordered_cut(rows.type, s.unique ? repeats::anywhere : repeats::none, rows.key, s.limit));
    return out;
  }
  return c.half == 0 ? build_creator(c, s, rows) : build_merger(c, s, rows);
}

// What a sort can use: twice its rows (two halves of the run buffer), so that all of them stay in memory.
plan::memory_wish memory(const plan::node& n, int) {
  plan::memory_wish wish;
  constexpr uint32_t smallest_block = 16 * KiB;
  wish.minimum = sort::minimum_sort_memory(smallest_block);
  wish.maximum = UINT64_MAX / 4;
  wish.weight = 1;
  const auto in_memory = n.facts.find("sorted_bytes");
  if (in_memory != n.facts.end()) wish.maximum = std::max(wish.minimum, in_memory->second * 5 / 2 + 4 * MiB);
  return wish;
}

exec::operator_definition define() {
  plan::operator_declaration d;
  d.name = "sort";
  d.summary = "Sorts the rows, on scratch when they don't fit in memory.";
  d.details =
      "Unsigned and signed integers sort by value, floats by IEEE 754 totalOrder (-NaN < -inf < … < -0.0 < +0.0 < … < "
      "inf < NaN), "
      "bytes[N] and string byte by byte (locale C), a shorter string before its extensions.\n\n"
      "The result is a function of the input, whatever the number of threads. Rows with equal keys: for rows of at "
      "most 16 bytes "
      "the remaining bytes decide (in the order of the columns, each in ascending order); wider rows and rows with "
      "strings keep "
      "their input order, as all rows do with `stable`.\n\n"
      "A sort whose input is already sorted by its keys (behind another sort, or with `sorted_by` declared at a file) "
      "is elided. "
      "What fits in memory is never written to scratch.";
  d.order = "needs: nothing; gives: by";
  d.example = "top: {op: sort, in: degrees, with: {by: [-deg, src], limit: 10}}\n";
  d.role = plan::operator_role::breaker;
  d.inputs = {{"in", "the rows to sort"}};
  d.outputs = {{"out", "the rows in order"}};
  d.parameters = {{.name = "by",
                   .kind = plan::parameter_kind::sort_keys,
                   .required = true,
                   .help = "The keys, most significant first: columns, slices of bytes columns (\"key[0:10]\") or "
                           "expressions; - in front: descending."},
                  {.name = "unique",
                   .kind = plan::parameter_kind::boolean,
                   .default_text = "false",
                   .help = "Keep only the first row of each key, first in the order of the input."},
                  {.name = "combine",
                   .kind = plan::parameter_kind::aggregates,
                   .help = "Make one row of each key, {name: \"sum(x)\"}: the keys and these aggregates, as a group "
                           "behind the sort would. Rows of equal keys become one wherever they meet, before they are "
                           "written to scratch; not with sums of floats and aggregates of strings, which are made "
                           "behind the sort."},
                  {.name = "limit",
                   .kind = plan::parameter_kind::integer,
                   .help = "Keep only the first so many rows of the result."},
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
  d.check = check;
  d.memory = memory;
  return {std::move(d), build};
}

}  // namespace

const exec::operator_definition& sort_operator() {
  static const exec::operator_definition definition = define();
  return definition;
}

}  // namespace flowrun::operators
