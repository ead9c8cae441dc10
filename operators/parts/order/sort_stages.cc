#include "operators/parts/order/sort_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <any>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/exec/node_work.h"
#include "engine/exec/parcel.h"
#include "engine/resume/manifest.h"
#include "engine/sizes/sorted_row.h"
#include "engine/sort/conservation.h"
#include "engine/sort/kept_first_rows.h"
#include "engine/sort/run_creator.h"
#include "engine/sort/run_merger.h"
#include "operators/parts/order/stage_state.h"
#include "operators/parts/rules/estimates.h"

namespace flowrun::operators {

namespace {

sort::sort_resources resources_of(exec::build_context& c, const record::row_type& type, runs::compression compress) {
  sort::sort_resources out;
  exec::services* job = &c.job;
  out.blocks = &job->blocks();
  out.pool = &job->pool();
  out.post = exec::node_poster(c.job, c.counters);
  out.cancelled = [job] { return job->cancelled(); };
  out.memory_bytes = c.memory_bytes;
  out.kept_bytes = c.kept_bytes;
  out.threads = job->threads();
  out.node = c.node.id;
  out.coding = {compress, type.row_bytes()};
  return out;
}

// Rows on their way into runs, and their tally where that is to be verified.
struct tallied_rows {
  sort::prepared_rows rows;
  record::row_tally tally;
};

class prepare_stage final : public exec::stateless_stage {
 public:
  prepare_stage(std::shared_ptr<sort::run_creator> creator, const record::row_type& type, bool verifies)
      : creator_(std::move(creator)) {
    if (verifies) tallier_.emplace(type);
  }
  void apply(const record::batch& in, exec::output& out) const override {
    tallied_rows made{creator_->prepare(in), tallier_ ? tallier_->tally(in) : record::row_tally()};
    const sort::part_size size = size_of(made.rows);
    out.emit(exec::make_parcel(std::move(made), size.num_rows, size.num_bytes));
  }

 private:
  std::shared_ptr<sort::run_creator> creator_;
  std::optional<record::row_tallier> tallier_;  // where rows are verified
};

// What run creation leaves for the merge.
using hand_over = std::shared_ptr<runs::sorted_runs>;

// Leaves out the first rows of what prepare() made.
void drop_rows(sort::prepared_rows& rows, uint64_t count) {
  if (auto* const batch = std::get_if<record::batch>(&rows)) *batch = batch->slice(count, batch->num_rows - count);
  if (auto* const words = std::get_if<sort::owned_words<uint64_t>>(&rows)) words->words = words->words.subspan(count);
  if (auto* const wide = std::get_if<sort::owned_words<record::word128>>(&rows))
    wide->words = wide->words.subspan(count);
}

// Of a job that can be resumed: which rows of the sort's input an earlier process has left in runs.
class resumed_input {
 public:
  resumed_input(resume::kept_sort* kept, const sort::sort_settings& settings, bool begins_at_position) : kept_(kept) {
    if (kept_ == nullptr) return;
    settings_ = settings;
    const resume::sort_progress& before = kept_->before();
    rows_to_skip_ = begins_at_position ? before.rows_to_skip : before.rows_taken;
    rows_seen_ = before.rows_taken - rows_to_skip_;
    if (begins_at_position) tally_before_ = before.before_position;
  }
  // Of the rows that don't come again; nullopt: it isn't known.
  const std::optional<record::row_tally>& tally_before() const { return tally_before_; }
  // Of the next `count` rows, how many are in runs already.
  uint64_t skip(uint64_t count) {
    rows_seen_ += count;
    const uint64_t skipped = std::min(count, rows_to_skip_);
    rows_to_skip_ -= skipped;
    return skipped;
  }
  // `tally`: of the rows so far.
  void note_position(const resume::pipeline_position& from, const std::optional<record::row_tally>& tally) {
    if (kept_ != nullptr) kept_->note_position(rows_seen_, from, tally);
  }
  // The runs that are there come first.
  void add_to(runs::sorted_runs& out) const {
    if (kept_ == nullptr) return;
    const resume::sort_progress& before = kept_->before();
    std::vector<runs::run> runs = before.runs;
    sort::forget_unsound_first_rows(settings_, runs);
    out.runs.insert(out.runs.begin(), std::make_move_iterator(runs.begin()), std::make_move_iterator(runs.end()));
    runs::forget_first_rows_together(out.runs);
    out.num_rows += before.rows_taken;
    if (!out.runs.empty()) std::erase_if(out.in_memory, [](const auto& run) { return run->num_rows == 0; });
    if (before.is_complete) out.taken = before.all;
    if (out.in_memory.empty()) kept_->complete(out.taken);
  }

 private:
  resume::kept_sort* kept_;
  sort::sort_settings settings_;
  uint64_t rows_to_skip_ = 0;
  uint64_t rows_seen_ = 0;
  std::optional<record::row_tally> tally_before_ = record::row_tally();
};

class creator_stage final : public exec::ordered_stage {
 public:
  creator_stage(std::shared_ptr<sort::run_creator> creator, bool verifies, uint64_t most_rows, resumed_input resumed,
                exec::build_context& c)
      : creator_(std::move(creator)),
        tally_(verifies ? resumed.tally_before() : std::nullopt),
        most_rows_(most_rows),
        rows_left_(most_rows),
        resumed_(resumed),
        state_(c.state),
        counters_(c.counters) {}

  void note_position(const resume::pipeline_position& from) override { resumed_.note_position(from, tally_); }

  outcome push(record::batch& in, exec::output&, waker& w) override {
    if (!left_) begin(in);
    const outcome o = creator_->push(*left_, w);
    if (o.is_ready()) left_.reset();
    return o;
  }
  outcome finish(exec::output&, waker& w) override {
    if (const outcome o = creator_->finish(w); !o.is_done()) return o;
    auto runs = std::make_shared<runs::sorted_runs>(creator_->take());
    runs->taken = tally_;
    resumed_.add_to(*runs);
    counters_.runs = runs->runs.size();
    for (const runs::run& r : runs->runs) {
      counters_.run_bytes += r.blocks.size() * uint64_t{r.block_bytes};
      counters_.stored_run_bytes += r.stored_bytes();
    }
    state_ = std::move(runs);
    return outcome::done();
  }

 private:
  void begin(const record::batch& in) {
    if (in.num_rows > rows_left_)
      throw error(error_kind::bad_data,
                  fmt::format("there are more than {} rows, against what was planned", most_rows_),
                  "did an input grow? Run the job again");
    rows_left_ -= in.num_rows;
    const auto& given = exec::open_parcel<tallied_rows>(in);
    left_ = given.rows;
    if (tally_) *tally_ += given.tally;
    if (const uint64_t skipped = resumed_.skip(in.num_rows); skipped > 0) drop_rows(*left_, skipped);
  }

  std::shared_ptr<sort::run_creator> creator_;
  std::optional<record::row_tally> tally_;  // of the rows so far, where they are verified
  const uint64_t most_rows_;
  uint64_t rows_left_;
  resumed_input resumed_;
  std::optional<sort::prepared_rows> left_;  // of the parcel that is being taken
  std::any& state_;
  exec::node_counters& counters_;
};

// A part of the sorted stream, and the number of its first row.
struct placed_part {
  sort::merge_part part;
  uint64_t first_row = 0;
};

// The check is null where nothing is verified.
class merger_source final : public exec::source {
 public:
  merger_source(std::shared_ptr<sort::run_merger> merger, std::shared_ptr<sort::outflow_check> check, bool is_kept)
      : merger_(std::move(merger)), check_(std::move(check)), is_kept_(is_kept) {}
  outcome pull(exec::output& out, waker& w) override {
    std::vector<sort::merge_part> parts;
    const outcome o = merger_->pull(parts, w);
    for (sort::merge_part& part : parts) {
      const sort::part_size size = size_of(part);
      const uint64_t first_row = check_ ? check_->place(size.num_rows) : 0;
      out.emit(exec::make_parcel(placed_part{std::move(part), first_row}, size.num_rows, size.num_bytes));
    }
    if (check_ && o.is_done()) check_->end();
    return o;
  }
  resume::source_position position() const override {
    resume::source_position out;
    if (!is_kept_) return out;
    const runs::merge_position at = merger_->position();
    if (!at.empty()) out.push_back(check_ ? check_->num_placed() : 0);
    for (const runs::rows_of_run& r : at) out.insert(out.end(), {r.stream, r.num_rows});
    return out;
  }

 private:
  std::shared_ptr<sort::run_merger> merger_;
  std::shared_ptr<sort::outflow_check> check_;
  const bool is_kept_;  // the runs, for a later process
};

class refine_stage final : public exec::parcel_stage<placed_part> {
 public:
  refine_stage(std::shared_ptr<sort::run_merger> merger, std::shared_ptr<sort::outflow_check> check)
      : merger_(std::move(merger)), check_(std::move(check)) {}
  void open(const placed_part& placed, exec::output& out) const override {
    std::vector<record::batch> rows;
    merger_->refine(placed.part, rows);
    if (check_) check_->add(placed.first_row, size_of(placed.part).num_rows, rows);
    out.emit(rows);
  }

 private:
  std::shared_ptr<sort::run_merger> merger_;
  std::shared_ptr<sort::outflow_check> check_;
};

// Of the job's own graph, if it can be resumed. Long runs hold rows from all over the input until they end.
resume::kept_sort* kept_sort_of(exec::build_context& c, const sort::sort_settings& settings) {
  resume::manifest* const manifest = c.job.manifest();
  return manifest == nullptr || settings.long_runs ? nullptr : &manifest->sort(c.node.id);
}

// `from`: what merger_source::position() gave in an earlier process.
bool begin_at(runs::sorted_runs& runs, const resume::source_position& from) {
  runs::merge_position position;
  for (size_t i = 1; i + 1 < from.size(); i += 2) position.push_back({from[i], from[i + 1]});
  return runs.begin_at(position);
}

// Where a merge that is verified can be gone on with: tells what the check knows of the rows that have passed.
class tally_stage final : public exec::ordered_stage {
 public:
  explicit tally_stage(std::shared_ptr<sort::outflow_check> check) : check_(std::move(check)) {}
  outcome push(record::batch& in, exec::output& out, waker&) override {
    out.emit(std::move(in));
    return outcome::ready();
  }
  bool has_state() const override { return true; }
  void keep_state() override { check_->keep_parts(); }
  std::string state(const resume::source_position& from) const override {
    const record::row_tally tally = check_->given_before(from.front());
    state_writer out;
    for (const uint64_t value : {from.front(), tally.num_rows, tally.sum}) out.number(value);
    return out.take();
  }
  void begin_with(const std::string& state) override {
    state_reader in(state);
    const uint64_t first_row = in.number();
    const uint64_t num_rows = in.number();
    check_->begin_at(first_row, {num_rows, in.number()});
  }

 private:
  std::shared_ptr<sort::outflow_check> check_;
};

// Looks at rows that pass in order already.
class order_stage final : public exec::ordered_stage {
 public:
  explicit order_stage(std::shared_ptr<sort::outflow_check> check) : check_(std::move(check)) {}
  outcome push(record::batch& in, exec::output& out, waker&) override {
    check_->add(check_->place(in.num_rows), in.num_rows, {&in, 1});
    out.emit(std::move(in));
    return outcome::ready();
  }
  bool has_state() const override { return true; }
  std::string state(const resume::source_position&) const override {
    state_writer out;
    out.number(check_->num_placed());
    return out.take();
  }
  void begin_with(const std::string& state) override { check_->begin_at(state_reader(state).number(), {}); }
  outcome finish(exec::output&, waker&) override {
    check_->end();
    return outcome::done();
  }

 private:
  std::shared_ptr<sort::outflow_check> check_;
};

bool is_verified(const exec::build_context& c, const record::row_type& type) {
  const exec::verification which = c.job.options().verify;
  return which == exec::verification::all || (which == exec::verification::fixed_width && !type.has_strings());
}

std::shared_ptr<sort::outflow_check> make_check(exec::build_context& c, const sort::sort_settings& settings,
                                                std::optional<record::row_tally> taken) {
  exec::node_counters* counters = &c.counters;
  return std::make_shared<sort::outflow_check>(settings, taken, c.node.id,
                                               [counters](const sort::conservation_result& found) {
                                                 counters->verified_rows_in += found.rows_in;
                                                 counters->verified_rows_out += found.rows_out;
                                                 counters->verified_as = static_cast<uint64_t>(found.level);
                                               });
}

}  // namespace

void add_run_creation(exec::assembly& to, exec::build_context& c, sort::sort_settings settings,
                      runs::compression compress, uint64_t most_rows) {
  sort::sort_resources resources = resources_of(c, settings.type, compress);
  resources.creating = c.sort->creator;
  settings.force_spill = c.job.options().force_spill;
  resume::kept_sort* const kept = kept_sort_of(c, settings);
  if (kept != nullptr) {
    resources.written = [kept, before = kept->before().rows_taken](uint64_t rows, std::vector<runs::run> blocks) {
      kept->written(before + rows, std::move(blocks));
    };
    resources.keeps_none_once_spilled = true;
    settings.force_spill |= kept->before().rows_taken > 0;  // as if this process had spilled those
  }
  std::shared_ptr<sort::run_creator> creator = sort::make_run_creator(settings, resources);
  const bool verifies = is_verified(c, settings.type);
  to.stages.emplace_back(std::make_unique<prepare_stage>(creator, settings.type, verifies));
  to.stages.emplace_back(std::make_unique<creator_stage>(creator, verifies, most_rows,
                                                         resumed_input(kept, settings, c.begin_at != nullptr), c));
}

void add_merge(exec::assembly& to, exec::build_context& c, const sort::sort_settings& settings,
               runs::compression compress) {
  auto given = c.state.has_value() ? std::any_cast<hand_over>(std::exchange(c.state, {})) : hand_over();
  if (given == nullptr) {  // all of it is of an earlier process
    given = std::make_shared<runs::sorted_runs>(c.job.blocks());
    resumed_input(kept_sort_of(c, settings), settings, false).add_to(*given);
    c.counters.runs = given->runs.size();
  }
  resume::kept_sort* const kept = kept_sort_of(c, settings);
  const bool is_kept = kept != nullptr && kept->is_complete() && !given->runs.empty();
  if (c.begin_at != nullptr && !begin_at(*given, *c.begin_at))
    throw error(error_kind::io,
                fmt::format("node '{}': what is there of its last merge doesn't fit its runs", c.node.id),
                "run the job again: it starts over");
  sort::sort_resources resources = resources_of(c, settings.type, compress);
  resources.merging = c.sort->merger;
  // Merges before the last one see only the rows behind begin_at. A later process may need the others, too, so for it
  // the runs stay as they are.
  if (is_kept && c.begin_at == nullptr)
    resources.merged = [kept](const std::vector<uint64_t>& streams, const runs::run& made) {
      kept->merged(streams, made);
    };
  std::shared_ptr<sort::outflow_check> check;
  if (is_verified(c, settings.type)) check = make_check(c, settings, given->taken);
  std::shared_ptr<sort::run_merger> merger =
      sort::make_run_merger(settings, resources, std::move(*given), c.batches.target_bytes);
  const bool has_kept_runs = is_kept && (c.begin_at == nullptr || merger->merge_passes() <= 1);
  c.counters.fan_in = merger->fan_in();
  c.counters.merge_passes = merger->merge_passes();
  to.head = std::make_unique<merger_source>(merger, check, has_kept_runs);
  to.stages.emplace_back(std::make_unique<refine_stage>(merger, check));
  if (check && kept != nullptr) to.stages.emplace_back(std::make_unique<tally_stage>(check));
}

void add_order_check(exec::assembly& to, exec::build_context& c, const sort::sort_settings& settings) {
  if (c.job.options().verify == exec::verification::all)
    to.stages.emplace_back(std::make_unique<order_stage>(make_check(c, settings, std::nullopt)));
}

uint64_t bytes_to_sort(const record::row_type& type, bool indexed, const plan::row_estimate& estimate) {
  const uint64_t expected = sizes::bytes_to_sort(estimate.rows, estimate.num_bytes, type.row_bytes(), indexed);
  // An estimate may be too low, above all one of few long rows: what a map makes of a text has any length.
  constexpr uint64_t long_rows = 64 * MiB;
  if (type.has_strings() && estimate.most_bytes == plan::row_estimate::unbounded) return 4 * expected + long_rows;
  return estimate.bounds_rows() ? expected : 4 * expected;
}

plan::memory_wish sort_memory(const plan::node& n, plan::node_part) {
  plan::memory_wish wish;
  wish.minimum = sizes::least_sort_memory(sizes::shortest_sort_block);
  wish.maximum = UINT64_MAX / 4;
  wish.weight = 1;
  if (const auto in_memory = n.facts.sort.num_bytes)
    wish.maximum = std::max(wish.minimum, *in_memory * 5 / 2 + 4 * MiB);
  return wish;
}

std::string hidden_key_column() { return "key[0]"; }

hidden_key with_hidden_key(const record::row_type& type, record::value_type key) {
  std::vector<record::column> columns = type.columns();
  columns.push_back({hidden_key_column(), key});
  hidden_key out;
  out.type = record::row_type(std::move(columns));
  out.settings.type = out.type;
  out.settings.key = {{type.num_columns(), false, 0, 0}};
  return out;
}

void describe_hidden_key(plan::node_checker& node, const hidden_key& sorted) {
  plan::sort_facts& facts = node.facts().sort;
  facts.indexed = !sorted.settings.narrow();
  facts.row_bytes = sorted.type.row_bytes();
  const plan::row_estimate& estimate = node.input_estimate();
  if (estimate.known)
    facts.num_bytes = bytes_to_sort(sorted.type, facts.indexed, with_type(estimate, node.input_type(), sorted.type));
}

exec::stage without_hidden_key(const hidden_key& sorted, record::batch_pool& pool) {
  named_expressions columns;
  for (size_t i = 0; i + 1 < sorted.type.num_columns(); ++i)
    columns.emplace_back(sorted.type[i].name, expr::column_expression(sorted.type, i));
  return make_program(sorted.type, {program_step::map(std::move(columns))}, pool);
}

}  // namespace flowrun::operators
