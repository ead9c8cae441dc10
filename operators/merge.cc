// merge: several sorted streams into one.
//
// A loser tree of the inputs' current rows, compared by key words; as long as one input stays in front of the runner-up
// its rows move as a whole: the end of that run is found by doubling steps, and a long run is handed on without a copy.
// Ties go to the input named first, so the merge is stable. Cost: about 2 log2 k word comparisons per change of input.
#include <algorithm>
#include <utility>

#include "engine/kernels/loser_tree.h"
#include "operators/parts/order/merge_less.h"
#include "operators/parts/order/row_order.h"
#include "operators/parts/order/sort_order.h"
#include "operators/parts/order/stream_cursor.h"
#include "operators/parts/rules/estimates.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

struct settings {
  plan::order by;
  std::optional<merge_condition> less;  // in place of `by`
  void bind(const expr::scalar_values& values) { expr::bind(less, values); }
};

settings check(plan::node_checker& node) {
  if (node.has("by") == node.has("less")) {
    node.fault_at_node(node.has("by") ? "a merge has either by or less" : "a merge needs the order of its inputs",
                       "by: [column, …], or less: a condition over a and b");
    return {};
  }
  if (node.has("less")) return {{}, check_merge_less(node)};
  require_equal_types(node);
  if (!node.ok()) return {};
  const plan::order by = order_parameter(node, "by");
  if (!node.ok()) return {};
  plan::row_estimate estimate;
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    node.require_order(i, by);
    estimate = i == 0 ? node.input_estimate(0) : sum(estimate, node.input_estimate(i));
  }
  node.set_output(0, node.input_type(0), by, estimate);
  return {by, {}};
}

class merge_source final : public exec::source {
 public:
  merge_source(exec::build_context& c, const record::key& by)
      : words_(c.input_type(), by),
        compare_(c.input_type(), by),
        builder_(c.output_type(), c.job.pool(), c.batches),
        strings_(c.output_type().has_strings()),
        heads_(c.inputs.size(), in_front{this}) {
    for (exec::input_stream* in : c.inputs) cursors_.emplace_back(*in, &words_);
    for (uint32_t i = 0; i < cursors_.size(); ++i) waiting_.push_back(i);
  }

  outcome pull(exec::output& out, waker& w) override {
    while (!waiting_.empty()) {
      const uint32_t i = waiting_.back();
      const outcome o = cursors_[i].fill(w);
      if (o.is_blocked()) return o;
      waiting_.pop_back();
      show_head(i);
    }
    if (!std::exchange(started_, true)) heads_.start();
    if (heads_.winner() == heads_.none) {
      out.emit(builder_.take());
      return outcome::done();
    }
    while (waiting_.empty() && heads_.winner() != heads_.none) {
      if (move_run(out)) return outcome::ready();
    }
    return outcome::ready();
  }

 private:
  // Between inputs whose current rows have equal words.
  struct in_front {
    const merge_source* merge;
    bool operator()(uint32_t a, uint32_t b, uint64_t&) const {
      return !merge->after(a, merge->cursors_[a].position(), b, merge->cursors_[b].position());
    }
  };

  // The input's current row takes part: its first one, or the next one of the input that has won. None: it has ended.
  void show_head(uint32_t input) {
    const stream_cursor& in = cursors_[input];
    if (!started_) {
      if (in.has_row()) heads_.set(input, in.word());
    } else if (in.has_row()) {
      heads_.replay(in.word());
    } else {
      heads_.replay_exhausted();
    }
  }

  // Row `a_row` of input a comes after row `b_row` of input b in the result.
  bool after(uint32_t a, size_t a_row, uint32_t b, size_t b_row) const {
    const stream_cursor& left = cursors_[a];
    const stream_cursor& right = cursors_[b];
    const uint64_t left_word = left.words()[a_row];
    const uint64_t right_word = right.words()[b_row];
    if (left_word != right_word) return left_word > right_word;
    if (!words_.exact()) {
      const int order = compare_.compare(left.rows().row(a_row), left.heap(), right.rows().row(b_row), right.heap());
      if (order != 0) return order > 0;
    }
    return a > b;
  }
  // How many rows of input `front` come before the current row of input `next`; at least one does.
  size_t run_length(uint32_t front, uint32_t next) const {
    const size_t first = cursors_[front].position();
    const size_t end = cursors_[front].rows().num_rows;
    const size_t limit = cursors_[next].position();
    size_t low = first;  // comes before
    size_t step = 1;
    while (low + step < end && !after(front, low + step, next, limit)) {
      low += step;
      step *= 2;
    }
    size_t high = std::min(low + step, end);  // doesn't, or is the end
    while (high - low > 1) {
      const size_t middle = low + (high - low) / 2;
      (after(front, middle, next, limit) ? high : low) = middle;
    }
    return high - first;
  }

  // Moves the rows of the front input that come before all others. True when a batch was emitted.
  bool move_run(exec::output& out) {
    const uint32_t front = heads_.winner(), next = heads_.runner_up();
    stream_cursor& in = cursors_[front];
    const size_t count = next == heads_.none ? in.rows_left() : run_length(front, next);
    const bool emitted = take(in, count, out);
    if (in.has_row())
      show_head(front);
    else
      waiting_.push_back(front);
    return emitted;
  }

  // The next `count` rows of the input, or the first of them, until a batch is full.
  bool take(stream_cursor& in, size_t count, exec::output& out) {
    const record::batch& rows = in.rows();
    if (count * 4 >= builder_.max_rows()) {
      out.emit(builder_.take());
      out.emit(rows.slice(in.position(), count));
      in.advance(count);
      return true;
    }
    while (count > 0) {
      const size_t n = strings_ ? 1 : std::min(count, builder_.room());
      if (strings_)
        builder_.append_row(in.row(), in.heap());
      else
        std::memcpy(builder_.append(n), in.row(), n * rows.row_bytes);
      in.advance(n);
      count -= n;
      if (builder_.full()) {
        out.emit(builder_.take());
        return true;
      }
    }
    return false;
  }

  record::key_fronts words_;
  record::row_comparator compare_;
  record::batch_builder builder_;
  bool strings_;
  std::vector<stream_cursor> cursors_;
  kernels::loser_tree<uint64_t, in_front> heads_;
  bool started_ = false;           // all inputs have shown their first rows
  std::vector<uint32_t> waiting_;  // inputs whose batch is used up: at first all, then the one that has won
};

exec::assembly build(exec::build_context& c, const settings& s) {
  exec::assembly out;
  if (s.less)
    out.head = make_merge_less(c, *s.less);
  else
    out.head = std::make_unique<merge_source>(c, key_of(c.input_type(), s.by));
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"merge">() {
  plan::operator_declaration d;
  d.name = "merge";
  d.summary = "Merges sorted streams into one sorted stream.";
  d.details =
      "Rows with equal keys come in the order of the inputs, and within an input in its order. With `by` the inputs "
      "have the "
      "same columns and types.\n\n"
      "`less` is for orders that no columns express: a condition that says whether row a comes before row b, for rows "
      "of one "
      "input and of any two. a.x and b.x are their columns, 0, false or empty text where an input has no such column; "
      "a.input "
      "and b.input say which input a row is from (0 is the first in `in:`). The output has the columns that all inputs "
      "have. "
      "Every input must be sorted by `less`; that is checked as it is read. Texts of two rows can't be compared with "
      "each other: compare numbers computed from them, or merge `by` columns.";
  d.order = "needs: every input sorted by `by` (or `less`); gives: `by` (with `less`: nothing that is known)";
  d.example =
      "all: {op: merge, in: [old, new], with: {by: [time, id]}}\n"
      "suffixes:  # of DC3: class 0 (c, rank behind it) against class 1 (its own rank, c, rank behind it)\n"
      "  op: merge\n"
      "  in: [class0, class1]\n"
      "  with: {less: \"if(a.input == 1 and b.input == 1, a.rank < b.rank, (a.c, a.behind) < (b.c, b.behind))\"}\n";
  d.role = plan::operator_role::meeting;
  d.division = plan::operator_division::keys;
  d.inputs = {{"in", "any number of streams, each sorted by `by` or `less`"}};
  d.any_number_of_inputs = true;
  d.outputs = {{"out", "the rows of all inputs, sorted by `by`"}};
  d.parameters = {{.name = "by",
                   .kind = plan::parameter_kind::sort_keys,
                   .help = "The columns that every input is sorted by; -column for descending."},
                  {.name = "less",
                   .kind = plan::parameter_kind::condition,
                   .help = "In place of `by`: whether row a comes before row b."}};
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
