// window: expressions that look at neighbouring rows, row[-1].x.
//
// An ordered stage holds the last rows and makes wide rows: the row itself, and behind it each neighbour's column that
// an expression reads. A program then computes over wide rows, in parallel, and drops the neighbours again. Rows wait
// until the rows behind them are there. Memory: the rows of the window and a batch, packed. Rows without strings have
// their place from the start; strings may outgrow the node's memory, and then the job ends with a way out.
//
// With `reset` wide rows are made of one group after the other: what lies beyond the group is beyond the end.
#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "operators/parts/order/row_groups.h"
#include "operators/parts/order/row_history.h"
#include "operators/parts/rules/column_copy.h"
#include "operators/parts/rules/constant_row.h"
#include "operators/parts/rules/estimates.h"
#include "operators/parts/rules/held_rows.h"
#include "operators/parts/rules/program.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

constexpr uint64_t max_distance = expr::scope::most_neighbours;
constexpr uint64_t history_copies = 2;  // of the rows needed: what is dropped leaves late
constexpr size_t few_rows = 16;         // whose strings may fill a batch before the rows do
constexpr uint64_t group_bytes = 8;     // to know where a group of one row begins

struct settings {
  int before = 0, after = 0;
  uint64_t every = 1;
  named_expressions pad;  // constants, converted to the type of their column
  named_expressions let;
  std::vector<std::string> reset;  // columns
  uint64_t row_bytes = 0;          // of the input
  bool has_strings = false;

  uint64_t window_bytes() const {
    return (static_cast<uint64_t>(before) + static_cast<uint64_t>(after) + 1) *
           (row_bytes + (reset.empty() ? 0 : group_bytes));
  }
  void bind(const expr::scalar_values& values) { expr::bind_all(values, pad, let); }
};

int distance_parameter(plan::node_checker& node, const char* name) {
  const uint64_t distance = node.integer(name);
  if (distance <= max_distance) return static_cast<int>(distance);
  node.fault_at_parameter(name, fmt::format("a window of {} rows is too wide", format_count(distance)),
                          fmt::format("at most {}", format_count(max_distance)));
  return static_cast<int>(max_distance);
}

settings read(plan::node_checker& node) {
  settings s;
  const record::row_type& input = node.input_type();
  s.before = distance_parameter(node, "before");
  s.after = distance_parameter(node, "after");
  s.every = node.integer("every");
  if (s.every == 0) {
    node.fault_at_parameter("every", "every row that is no row gives none", "1 or more");
    s.every = 1;
  }
  s.row_bytes = input.row_bytes();
  s.has_strings = input.has_strings();
  s.reset = node.columns("reset");
  if (node.has("pad")) s.pad = read_constants(node, "pad", input, node.input_name(0));
  s.let = node.named_expressions("let",
                                 expr::scope{.row = &input, .row_number = true, .before = s.before, .after = s.after});
  return s;
}

settings check(plan::node_checker& node) {
  settings s = read(node);
  const record::row_type& input = node.input_type();
  std::vector<record::column> columns = input.columns();
  for (const auto& [name, value] : s.let) {
    if (input.index_of(name))
      node.fault_at_parameter("let." + name, fmt::format("the input has a column '{}'", name), "a name of its own",
                              "use a map behind the window to replace it");
    columns.push_back({name, value.type()});
  }
  if (node.ok() && s.let.empty())
    node.fault_at_parameter("let", "a window needs something to compute", "let: {name: expression, …}");
  if (!node.ok()) return s;
  // Rows that are held back, or left out: see operator_declaration::keeps_row_count.
  node.facts().rows_behind = static_cast<uint64_t>(s.after) + s.every - 1;
  record::row_type output(std::move(columns));
  plan::row_estimate estimate = with_type(node.input_estimate(), input, output);
  if (s.every > 1 && estimate.known) {
    estimate.num_bytes = estimate.num_bytes / s.every + output.row_bytes();
    estimate.rows = (estimate.rows + s.every - 1) / s.every;
    estimate.exact = estimate.exact && !output.has_strings();
    if (estimate.most_rows != plan::row_estimate::unbounded)
      estimate.most_rows = std::min(estimate.most_rows, estimate.most_rows / s.every + 1);
  }
  node.set_output(0, std::move(output), node.input_order(), estimate);
  return s;
}

// What it takes where rows have no strings.
uint64_t least_bytes(const settings& s) {
  return history_copies * s.window_bytes() + (s.reset.empty() ? 512 * KiB : 768 * KiB);
}

std::vector<expr::neighbour> neighbours_of(const settings& s) {
  std::vector<expr::neighbour> out;
  for (const auto& [name, value] : s.let)
    for (const expr::neighbour& n : value.neighbours())
      if (std::find(out.begin(), out.end(), n) == out.end()) out.push_back(n);
  return out;
}

record::row_type wide_type(const record::row_type& input, const std::vector<expr::neighbour>& neighbours) {
  std::vector<record::column> columns = input.columns();
  for (const expr::neighbour& n : neighbours)
    columns.push_back({expr::neighbour_column_name(n.column, n.distance), input[*input.index_of(n.column)].type});
  return record::row_type(std::move(columns));
}

class widening_stage final : public exec::ordered_stage {
 public:
  widening_stage(const exec::build_context& c, const settings& s) : widening_stage(c, s, c.input_type()) {}

  const record::row_type& wide() const { return wide_; }

  outcome push(record::batch& in, exec::output& out, waker&) override {
    // When a batch comes again, so many of its rows are in the history already.
    size_t num_stored = out.within();
    while (history_.end() <= after_ || widen_until(history_.end() - after_, out)) {
      // What no later row needs has been dropped.
      if (history_copies * history_.num_bytes() > memory_bytes_) fail();
      if (num_stored == in.num_rows) return outcome::ready();
      const size_t count = std::min(in.num_rows - num_stored, strings_.empty() ? in.num_rows : few_rows);
      store(in.slice(num_stored, count));
      num_stored += count;
    }
    out.leave(0, num_stored);
    return outcome::ready();
  }

  outcome finish(exec::output& out, waker&) override {
    if (!widen_until(history_.end(), out)) return outcome::ready();
    out.emit(builder_.take());
    return outcome::done();
  }

 private:
  widening_stage(const exec::build_context& c, const settings& s, const record::row_type& input)
      : node_(c.node.id),
        memory_bytes_(c.memory_bytes),
        most_bytes_(least_bytes(s) + most_held_bytes),
        before_(static_cast<size_t>(s.before)),
        after_(static_cast<size_t>(s.after)),
        every_(s.every),
        input_bytes_(input.row_bytes()),
        wide_(wide_type(input, neighbours_of(s))),
        history_(input),
        has_groups_(!s.reset.empty()),
        groups_(row_groups(input, places_of(input, s.reset))),
        padding_(constant_row(input, s.pad, c.job.pool())),
        builder_(wide_, c.job.pool(), wide_limits(c.batches)) {
    for (const expr::neighbour& n : neighbours_of(s)) {
      const record::column& from = input[*input.index_of(n.column)];
      parts_.push_back({n.distance, from.offset, wide_[input.num_columns() + parts_.size()].offset, from.type.num_bytes,
                        from.type.is_string()});
    }
    for (const record::column& column : input.columns())
      if (column.type.is_string()) strings_.push_back(column.offset);
  }

  struct part {
    int64_t distance;
    uint32_t from, to, num_bytes;
    bool is_string;
  };

  // Wide rows go no further than the program behind, so that few copies of one are alive at once. They may be twice as
  // long as other rows: a row and its neighbour.
  static record::batch_limits wide_limits(record::batch_limits usual) {
    usual.row_bytes += std::min(usual.row_bytes, UINT64_MAX - usual.row_bytes);
    return usual;
  }

  static std::vector<size_t> places_of(const record::row_type& type, const std::vector<std::string>& columns) {
    std::vector<size_t> out;
    for (const std::string& column : columns) out.push_back(*type.index_of(column));
    return out;
  }

  void store(const record::batch& rows) {
    if (has_groups_) {
      const bool open = groups_.open();
      const std::vector<uint32_t>& starts = groups_.add(rows);
      for (size_t g = 0; g + 1 < starts.size(); ++g)
        if (g > 0 || !open) group_starts_.push_back(history_.end() + starts[g]);
      drop_passed_groups();  // with `every`, very many may begin before the next row
    }
    history_.append(rows);
  }

  void drop_passed_groups() {
    while (group_starts_.size() > 1 && group_starts_[1] <= next_) group_starts_.pop_front();
  }

  // Finds the group of the next row, as far as its rows are there.
  void find_group() {
    drop_passed_groups();
    group_begin_ = has_groups_ ? group_starts_.front() : 0;
    group_end_ = group_starts_.size() > 1 ? group_starts_[1] : history_.end();
  }

  // How many of the next wide rows, at most `most`, have texts that together don't overfill the batch. At least one.
  size_t num_rows_that_fit(size_t most) const {
    const size_t room = builder_.text_room();
    size_t num_bytes = 0;
    for (size_t i = 0; i < most; ++i) {
      const std::byte* const row = history_.row(next_ + i * every_);
      for (uint32_t offset : strings_) num_bytes += record::load_ref(row + offset).length;
      for (const part& p : parts_)
        if (p.is_string) num_bytes += record::load_ref(neighbour_row(p, i) + p.from).length;
      if (num_bytes > room) return std::max<size_t>(i, 1);
    }
    return most;
  }

  // False: `out` was full before.
  bool widen_until(uint64_t end, exec::output& out) {
    while (next_ < end && !out.full()) {
      find_group();
      const size_t room = wide_.has_strings() ? std::min(builder_.room(), few_rows) : builder_.room();
      const uint64_t rows_left = std::min(end, group_end_) - next_;
      auto count = static_cast<size_t>(std::min<uint64_t>((rows_left + every_ - 1) / every_, room));
      if (wide_.has_strings()) count = num_rows_that_fit(count);
      std::byte* const to = builder_.append(count);
      copy_fields(to, history_.row(next_), count, input_bytes_);
      for (uint32_t offset : strings_)
        for (size_t i = 0; i < count; ++i) {
          std::byte* field = to + i * wide_.row_bytes() + offset;
          builder_.put_string(field, record::load_string(field, history_.heap()));
        }
      for (const part& p : parts_) put_neighbours(p, count, to);
      next_ += count * every_;
      if (builder_.full()) out.emit(builder_.take());
    }
    if (next_ > before_) history_.drop_before(std::min(next_ - before_, history_.end()));
    return next_ >= end;
  }

  // A field of each row that becomes a wide row, from the one at `from` on.
  void copy_fields(std::byte* to, const std::byte* from, size_t count, uint32_t num_bytes) const {
    const size_t from_stride = every_ * input_bytes_, to_stride = wide_.row_bytes();
    const auto copy = [&](auto copy_field) {
      for (size_t i = 0; i < count; ++i) copy_field(to + i * to_stride, from + i * from_stride);
    };
    switch (num_bytes) {
      case 1: return copy([](std::byte* t, const std::byte* f) { *t = *f; });
      case 2: return copy([](std::byte* t, const std::byte* f) { std::memcpy(t, f, 2); });
      case 4: return copy([](std::byte* t, const std::byte* f) { std::memcpy(t, f, 4); });
      case 8: return copy([](std::byte* t, const std::byte* f) { std::memcpy(t, f, 8); });
      default: return copy([&](std::byte* t, const std::byte* f) { copy_bytes(t, f, num_bytes); });
    }
  }

  // The rows in the middle have their neighbours in their group, those at its ends beyond it.
  void put_neighbours(const part& p, size_t count, std::byte* to) {
    size_t i = 0;
    if (!p.is_string) {
      while (i < count && !is_inside(p, i)) put_neighbour(p, i++, to);
      size_t inside = count - i;
      while (inside > 0 && !is_inside(p, i + inside - 1)) --inside;
      if (inside > 0)
        copy_fields(to + i * wide_.row_bytes() + p.to, history_.row(neighbour(p, i)) + p.from, inside, p.num_bytes);
      i += inside;
    }
    for (; i < count; ++i) put_neighbour(p, i, to);
  }

  // The row number of a neighbour of the i-th wide row from here. Before the first row of the stream it wraps around.
  uint64_t neighbour(const part& p, size_t i) const { return next_ + i * every_ + static_cast<uint64_t>(p.distance); }
  bool is_inside(const part& p, size_t i) const {
    return neighbour(p, i) >= group_begin_ && neighbour(p, i) < group_end_;
  }
  const std::byte* neighbour_row(const part& p, size_t i) const {
    return is_inside(p, i) ? history_.row(neighbour(p, i)) : padding_.rows;
  }

  void put_neighbour(const part& p, size_t i, std::byte* to) {
    const std::byte* const from = neighbour_row(p, i) + p.from;
    std::byte* const field = to + i * wide_.row_bytes() + p.to;
    if (p.is_string)
      builder_.put_string(field, record::load_string(from, is_inside(p, i) ? history_.heap() : padding_.heap));
    else
      copy_bytes(field, from, p.num_bytes);
  }

  [[noreturn]] void fail() const {
    throw error(
        error_kind::resources,
        fmt::format(
            "node '{}': with their strings, {} rows of its window take more than the {} that its memory has for "
            "them",
            node_, format_count(history_.end() - history_.begin()), format_bytes(memory_bytes_ / history_copies)),
        "drop columns of text that the window doesn't need in a map before it, or make the window smaller" +
            or_more_memory(memory_bytes_, most_bytes_));
  }

  std::string node_;
  uint64_t memory_bytes_, most_bytes_;
  size_t before_, after_;
  uint64_t every_;
  uint32_t input_bytes_;
  record::row_type wide_;
  row_history history_;
  bool has_groups_;
  group_tracker groups_;
  // Of the groups that have rows in the history from the next row on; the first one is that of the next row, once
  // find_group() has looked. Empty where all rows are one group.
  std::deque<uint64_t> group_starts_;
  uint64_t group_begin_ = 0, group_end_ = 0;  // of the next row's group, as far as it is there
  record::batch padding_;
  record::batch_builder builder_;
  std::vector<part> parts_;
  std::vector<uint32_t> strings_;
  uint64_t next_ = 0;  // the next row to widen
};

exec::assembly build(exec::build_context& c, const settings& s) {
  auto widening = std::make_unique<widening_stage>(c, s);
  named_expressions columns = identity(c.input_type());
  columns.insert(columns.end(), s.let.begin(), s.let.end());
  exec::assembly out;
  exec::stage program = make_program(widening->wide(), {program_step::map(std::move(columns))}, c.job.pool());
  out.stages.emplace_back(std::move(widening));
  out.stages.push_back(std::move(program));
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"window">() {
  plan::operator_declaration d;
  d.name = "window";
  d.summary = "Adds columns computed from neighbouring rows.";
  d.details =
      "In `let`, row[-1].x is column x of the row before and row[2].x of the second row behind, as far as `before` and "
      "`after` reach. Beyond the ends of the stream a neighbour has the values of `pad`, or 0 and empty text. The "
      "output has the columns of the input, then those of `let`. With `reset` rows have neighbours in their own group "
      "only.\n\n"
      "With `every` only the first row, the one so many rows behind it, and so on, come out, with their neighbours; "
      "row_number counts the rows that come out.";
  d.order = "keeps: the input's order";
  d.example =
      "steps: {op: window, in: sorted, with: {before: 1, let: {step: \"x - row[-1].x\"}, pad: {x: 0}}}\n"
      "pairs: {op: window, in: visits, with: {after: 1, let: {next: \"row[1].page\"}, reset: [visitor]}}\n";
  d.role = plan::operator_role::ordered;
  d.inputs = {{"in", "the rows, in the order in which they are neighbours"}};
  d.outputs = {{"out", "one row for each input row (with `every`, for some), in the same order"}};
  d.parameters = {{.name = "before",
                   .kind = plan::parameter_kind::integer,
                   .default_text = "0",
                   .help = "How many rows back an expression may look."},
                  {.name = "after",
                   .kind = plan::parameter_kind::integer,
                   .default_text = "0",
                   .help = "How many rows ahead an expression may look."},
                  {.name = "every",
                   .kind = plan::parameter_kind::integer,
                   .default_text = "1",
                   .help = "Of so many rows only the first one comes out."},
                  {.name = "pad",
                   .kind = plan::parameter_kind::named_expressions,
                   .help = "Values of columns beyond the ends, constants; 0 or empty otherwise."},
                  {.name = "reset",
                   .kind = plan::parameter_kind::columns,
                   .help = "Columns: where one of them changes, a group ends, and so does what its rows can see."},
                  {.name = "let",
                   .kind = plan::parameter_kind::named_expressions,
                   .required = true,
                   .help = "The columns to add."}};
  d.keeps_row_count = true;
  d.memory = [](const plan::node& n, plan::node_part) {
    const settings& s = n.settings.as<settings>();
    const uint64_t num_bytes = least_bytes(s);
    if (!s.has_strings) return plan::memory_wish{.minimum = num_bytes, .maximum = num_bytes, .weight = 0};
    return plan::memory_wish{.minimum = num_bytes, .maximum = num_bytes + most_held_bytes, .weight = 0.1};
  };
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
