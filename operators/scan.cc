// scan: a state that goes through the rows in order.
//
// The general form runs a state_program; several rows for one are one wide row until they leave (row_entries.h). The
// shorthands have a path of their own: a program in front makes rows of the final width, with the terms of the sums
// where the sums will be; the ordered stage copies each batch and turns terms into sums, one tight loop per column and
// group, and fills in ranks, one loop per run of equal values.
#include <algorithm>
#include <bit>
#include <optional>

#include "engine/expr/decimal_lane.h"
#include "engine/expr/state_program.h"
#include "operators/parts/order/row_groups.h"
#include "operators/parts/rules/column_copy.h"
#include "operators/parts/rules/scan_settings.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

std::vector<size_t> indices(const record::row_type& type, const std::vector<std::string>& names) {
  std::vector<size_t> out;
  for (const std::string& name : names) out.push_back(*type.index_of(name));
  return out;
}

class state_stage final : public exec::ordered_stage {
 public:
  // `rows`: what cuts the rows that the program emits into several; or none.
  state_stage(expr::state_program program, std::optional<entry_rows> rows, record::batch_pool& pool)
      : program_(std::move(program)), rows_(std::move(rows)), pool_(pool) {}

  outcome push(record::batch& in, exec::output& out, waker&) override {
    const size_t num_taken = program_.run(in, next_row_, pool_, results_, out.limits());
    next_row_ += num_taken;
    if (rows_)
      for (record::batch& wide : results_) wide = rows_->narrow(wide);
    out.emit(results_);
    if (num_taken < in.num_rows) out.leave(num_taken);
    return outcome::ready();
  }

 private:
  expr::state_program program_;
  std::optional<entry_rows> rows_;
  record::batch_pool& pool_;
  uint64_t next_row_ = 0;
  std::vector<record::batch> results_;
};

expr::state_program compile(const record::row_type& input, const scan_settings& s) {
  expr::state_program_builder builder(input, s.state, s.initial);
  std::vector<expr::expression> keys;
  for (size_t column : indices(input, s.reset)) keys.push_back(expr::column_expression(input, column));
  if (!keys.empty()) builder.reset_on_change(keys);
  for (const auto& [name, value] : s.updates)
    for (size_t k = 0; k < s.state.size(); ++k)
      if (s.state[k].name == name) builder.set(k, value);
  if (s.when) builder.emit_when(*s.when);
  builder.emit(s.rows.empty() ? s.emit : entry_rows::wide_columns(s.rows));
  return builder.build();
}

// What is added up: integers of 64 bits wrap around, and decimals end the job where a sum doesn't fit.
struct integers {
  static uint64_t sum(uint64_t a, uint64_t b) { return a + b; }
};
struct decimals {
  static uint64_t sum(uint64_t a, uint64_t b) { return expr::decimal_lane::add(a, b); }
};
struct floats {
  static uint64_t sum(uint64_t a, uint64_t b) {
    return std::bit_cast<uint64_t>(std::bit_cast<double>(a) + std::bit_cast<double>(b));
  }
};

// A column that becomes a running sum, in rows that have its terms there.
struct running_column {
  uint32_t offset;
  record::value_type type;  // of 8 bytes
  bool exclusive;
  uint64_t sum = 0;
  uint64_t before = 0;  // the term of the row before, which an exclusive sum adds when a row comes that shows it
};

template <class Numbers>
void accumulate(std::byte* column, size_t stride, size_t num_rows, running_column& to) {
  uint64_t sum = to.sum, before = to.before;
  for (size_t i = 0; i < num_rows; ++i, column += stride) {
    uint64_t term;
    std::memcpy(&term, column, sizeof term);
    sum = Numbers::sum(sum, to.exclusive ? before : term);
    std::memcpy(column, &sum, sizeof sum);
    before = term;
  }
  to.sum = sum;
  to.before = before;
}

// A column that becomes a rank: runs of rows with equal values in some columns, within a group.
class rank_column {
 public:
  // `runs` also ends a run where a group ends.
  rank_column(uint32_t offset, bool dense, row_groups runs) : offset_(offset), dense_(dense), runs_(std::move(runs)) {}

  // `starts` are the groups of `in` (group_tracker::add); `rows` are its rows, to be written.
  void put(const record::batch& in, const std::vector<uint32_t>& starts, bool group_open, std::byte* rows) {
    const std::vector<uint32_t>& runs = runs_.add(in);
    size_t group = 0;
    for (size_t r = 0; r + 1 < runs.size(); ++r) {
      // The run at the start that was open goes on with the rank it has; it may have no rows here.
      if (r > 0 || !group_open) begin_run(runs[r], starts, group, group_open);
      for (uint32_t i = runs[r]; i < runs[r + 1]; ++i)
        std::memcpy(rows + uint64_t{i} * in.row_bytes + offset_, &rank_, sizeof rank_);
    }
    rows_before_ += in.num_rows;
  }

 private:
  void begin_run(uint32_t row, const std::vector<uint32_t>& starts, size_t& group, bool group_open) {
    // Groups that begin at or before this row; group 0 is no new one if it was open.
    const uint64_t number = rows_before_ + row;
    bool new_group = false;
    while (group + 1 < starts.size() && starts[group] <= row) {
      new_group = (group > 0 || !group_open) && starts[group] == row;
      ++group;
    }
    if (new_group) {
      group_begin_ = number;
      rank_ = 0;
    } else {
      rank_ = dense_ ? rank_ + 1 : number - group_begin_;
    }
  }

  uint32_t offset_;
  bool dense_;
  group_tracker runs_;
  uint64_t rank_ = 0;
  uint64_t rows_before_ = 0, group_begin_ = 0;
};

class running_stage final : public exec::ordered_stage {
 public:
  running_stage(std::vector<running_column> columns, std::vector<rank_column> ranks, row_groups groups,
                record::batch_pool& pool)
      : columns_(std::move(columns)), ranks_(std::move(ranks)), groups_(std::move(groups)), pool_(pool) {}

  outcome push(record::batch& in, exec::output& out, waker&) override {
    const bool open = groups_.open();
    const std::vector<uint32_t>& starts = groups_.add(in);
    std::shared_ptr<std::byte[]> rows = pool_.take(in.num_rows * in.row_bytes);
    std::memcpy(rows.get(), in.rows, in.num_rows * in.row_bytes);
    for (running_column& c : columns_) {
      for (size_t g = 0; g + 1 < starts.size(); ++g) {
        if (g > 0 || !open) c.sum = c.before = 0;
        std::byte* column = rows.get() + starts[g] * in.row_bytes + c.offset;
        const size_t num_rows = starts[g + 1] - starts[g];
        const auto add_up = c.type.is_float()     ? accumulate<floats>
                            : c.type.is_decimal() ? accumulate<decimals>
                                                  : accumulate<integers>;
        add_up(column, in.row_bytes, num_rows, c);
      }
    }
    for (rank_column& r : ranks_) r.put(in, starts, open, rows.get());
    out.emit(sharing_heap(in, std::move(rows), in.num_rows, in.row_bytes));
    return outcome::ready();
  }

 private:
  std::vector<running_column> columns_;
  std::vector<rank_column> ranks_;
  group_tracker groups_;
  record::batch_pool& pool_;
};

void build_shorthands(exec::build_context& c, const scan_settings& s, exec::assembly& out) {
  const record::row_type& input = c.input_type();
  const record::row_type& output = c.output_type();
  named_expressions terms = identity(input);
  std::vector<running_column> columns;
  const auto add = [&](const std::string& name, expr::expression term, bool exclusive) {
    columns.push_back({output[terms.size()].offset, term.type(), exclusive});
    terms.emplace_back(name, std::move(term));
  };
  if (!s.number.empty()) add(s.number, constant("u64(1)"), true);  // the exclusive sum of ones
  for (const auto& [name, value] : s.sums) add(name, value, s.exclusive);
  std::vector<rank_column> ranks;
  for (const scan_settings::rank& r : s.ranks) {
    std::vector<size_t> runs = indices(output, s.reset);
    for (size_t column : indices(output, r.columns))
      if (std::find(runs.begin(), runs.end(), column) == runs.end()) runs.push_back(column);
    ranks.emplace_back(output[terms.size()].offset, r.dense, row_groups(output, runs));
    terms.emplace_back(r.name, constant("u64(0)"));
  }
  out.stages.push_back(make_program(input, {program_step::map(std::move(terms))}, c.job.pool()));
  out.stages.emplace_back(std::make_unique<running_stage>(std::move(columns), std::move(ranks),
                                                          row_groups(output, indices(output, s.reset)), c.job.pool()));
}

exec::assembly build(exec::build_context& c, const scan_settings& s) {
  exec::assembly out;
  if (s.is_shorthand()) {
    build_shorthands(c, s, out);
  } else {
    std::optional<entry_rows> rows;
    if (!s.rows.empty()) rows.emplace(s.rows, c.output_type().row_bytes(), c.job.pool());
    out.stages.emplace_back(std::make_unique<state_stage>(compile(c.input_type(), s), std::move(rows), c.job.pool()));
  }
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"scan">() {
  plan::operator_declaration d;
  d.name = "scan";
  d.summary = "Goes through the rows in order with a state.";
  d.details =
      "`state` names variables with their initial values, `set` updates them for each row, each update seeing those "
      "before it (a variable stands there once: what is on the way to its value is another variable), and `emit` "
      "computes the output row from the row and the new state. A variable has the type of its "
      "initial value: write i64(0) or 0.0 where 0 (u64) is not meant; updates are converted to it, integers keep their "
      "low bits. A variable hides a column of the same name. `row_number` is the row's position, from 0. With `when` "
      "only some rows emit; `emits` gives several rows for each row, each with a condition of its own if need be.\n\n"
      "The shorthands `number`, `prefix_sum`, `dense_rank` and `min_rank` add columns behind those of the input, in "
      "this order, and are faster. Sums are u64 or i64 and wrap around, f64, or decimals, of which one that doesn't "
      "fit ends the job. Ranks say how many different values "
      "(dense_rank) or rows (min_rank) come before the row's value; equal values must be adjacent, as they are behind "
      "a sort. With `reset` all of them start anew in each group.";
  d.order = "keeps: the leading order columns that are carried over (shorthands: all)";
  d.example =
      "numbered: {op: scan, in: sorted, with: {number: rank, prefix_sum: {total: amount}}}\n"
      "names:    {op: scan, in: sorted, with: {dense_rank: {name: [c0, c1, c2]}}}\n"
      "gaps:\n"
      "  op: scan\n"
      "  in: sorted\n"
      "  with:\n"
      "    state: {gap: \"i64(0)\", before: \"i64(0)\"}\n"
      "    set:   {gap: \"i64(time) - before\", before: i64(time)}\n"
      "    emit:  {time: time, gap: gap}\n";
  d.role = plan::operator_role::ordered;
  d.inputs = {{"in", "the rows, in the order that the state goes through them"}};
  d.outputs = {{"out", "one row for each input row, in the same order; what `when` and `emits` make of it otherwise"}};
  d.parameters = scan_parameters();
  d.keeps_row_count = true;
  return exec::define<scan_settings>(std::move(d), check_scan, build);
}

}  // namespace flowrun::operators
