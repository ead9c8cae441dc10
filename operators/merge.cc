// merge: several sorted streams into one.
//
// What lies up to a common splitter in the inputs' batches is a slice, and is put in order by itself (row_slices.h), as
// in the merge of a sort. Where only one input has rows there, many of them are handed on without a copy. Ties go to
// the input named first, so the merge is stable.
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/units.h"
#include "engine/kernels/row_gather.h"
#include "engine/kernels/row_slices.h"
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
        slices_(c.input_type(), by),
        gather_(c.output_type(), c.job.pool(), c.batches.target_bytes),
        wanted_rows_(wanted_rows(c)),
        most_of_an_input_(std::max<size_t>(2 * wanted_rows_ / c.inputs.size(), 1)) {
    for (exec::input_stream* in : c.inputs) cursors_.emplace_back(*in, &words_);
  }

  outcome pull(exec::output& out, waker& w) override {
    // A long run that is handed on is enough for once.
    while (out.items().empty() && places_.size() < wanted_rows_ && spent_.size() < cursors_.size())
      if (const outcome o = next_slice(out, w); !o.is_ready()) {
        if (o.is_blocked() && places_.empty()) return o;
        give(out);
        return o.is_done() ? o : outcome::ready();
      }
    give(out);
    return outcome::ready();
  }

 private:
  // Of a slice, and of what is given at once: a batch, and, as each input is searched for the splitter, some kilobytes
  // of each. With the places where the rows lie it fits the second cache.
  static size_t wanted_rows(const exec::build_context& c) {
    constexpr size_t of_each_input = 16 * KiB, most = 1 * MiB;
    const size_t num_bytes = std::max(c.batches.target_bytes, std::min(c.inputs.size() * of_each_input, most));
    return std::max<size_t>(num_bytes / (c.output_type().row_bytes() + sizeof(record::row_place)), 1);
  }

  // Rows up to the next splitter. done: there are none.
  outcome next_slice(exec::output& out, waker& w) {
    active_.clear();
    for (uint32_t i = 0; i < cursors_.size(); ++i) {
      const outcome o = cursors_[i].fill(w);
      if (o.is_blocked()) return o;
      if (o.is_ready()) active_.push_back(i);
    }
    if (active_.empty()) return outcome::done();
    if (!take_long_run(out)) take_slice();
    return outcome::ready();
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

  // How many of the first `most` rows that an input has left don't come after row `b_row` of input b. They are few of
  // those that are there, so they are looked for from the front, in steps that double.
  size_t num_up_to(uint32_t input, size_t most, uint32_t b, size_t b_row) const {
    const size_t first = cursors_[input].position();
    size_t low = 0, step = 1;  // so many don't
    while (low + step <= most && !after(input, first + low + step - 1, b, b_row)) {
      low += step;
      step *= 2;
    }
    size_t high = std::min(low + step - 1, most);  // no more than that
    while (low < high) {
      const size_t middle = low + (high - low + 1) / 2;
      if (after(input, first + middle - 1, b, b_row))
        high = middle - 1;
      else
        low = middle;
    }
    return low;
  }

  // The rows of one input that come before all others, if they are many: without a copy.
  bool take_long_run(exec::output& out) {
    const auto is_later = [this](uint32_t a, uint32_t b) {
      return after(a, cursors_[a].position(), b, cursors_[b].position());
    };
    uint32_t front = active_.front();
    std::optional<uint32_t> next;
    for (const uint32_t i : std::span(active_).subspan(1)) {
      if (is_later(front, i)) {
        next = std::exchange(front, i);
      } else if (!next || is_later(*next, i)) {
        next = i;
      }
    }
    stream_cursor& in = cursors_[front];
    size_t count = in.rows_left();
    if (next) count = num_up_to(front, count, *next, cursors_[*next].position());
    if (count * 4 < gather_.batch_rows()) return false;
    give(out);
    out.emit(in.rows().slice(in.position(), count));
    in.advance(count);
    return true;
  }

  void take_slice() {
    // The splitter is the first of the rows up to which the inputs may be used.
    std::optional<uint32_t> splitter;
    size_t splitter_row = 0;
    for (const uint32_t i : active_) {
      const size_t last = cursors_[i].position() + std::min(cursors_[i].rows_left(), most_of_an_input_) - 1;
      if (splitter && !after(*splitter, splitter_row, i, last)) continue;
      splitter = i;
      splitter_row = last;
    }
    spans_.clear();
    for (const uint32_t i : active_) {
      const stream_cursor& in = cursors_[i];
      const size_t count = num_up_to(i, std::min(in.rows_left(), most_of_an_input_), *splitter, splitter_row);
      if (count == 0) continue;
      spans_.push_back({{in.row(), in.heap()}, nullptr, count, static_cast<uint32_t>(in.rows().row_bytes), i});
    }
    slices_.merge(spans_, false, slice_);
    places_.insert(places_.end(), slice_.begin(), slice_.end());
    for (const kernels::row_span& s : spans_) {
      stream_cursor& in = cursors_[s.sequence];
      if (s.num_rows == in.rows_left()) spent_.push_back(in.rows().owner);
      in.advance(s.num_rows);
    }
  }

  void give(exec::output& out) {
    std::vector<record::batch> rows;
    gather_(places_, rows);
    out.emit(rows);
    places_.clear();
    spent_.clear();
  }

  const record::key_fronts words_;
  const record::row_comparator compare_;
  const kernels::row_slices slices_;
  const kernels::row_gather gather_;
  const size_t wanted_rows_;
  const size_t most_of_an_input_;  // in a slice
  std::vector<stream_cursor> cursors_;
  std::vector<record::row_place> places_;           // in order, to be given
  std::vector<std::shared_ptr<const void>> spent_;  // of batches that have no other rows than these
  // Reused for each slice.
  std::vector<uint32_t> active_;  // inputs that have rows
  std::vector<kernels::row_span> spans_;
  std::vector<record::row_place> slice_;
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
      "have the same columns and types.\n\n"
      "`less` is for orders that no columns express: a condition that says whether row a comes before row b, for rows "
      "of one input and of any two. a.x and b.x are their columns, 0, false or empty text where an input has no such "
      "column; a.input and b.input say which input a row is from (0 is the first in `in:`). The output has the columns "
      "that all inputs have. Every input must be sorted by `less`; that is checked as it is read. Texts of two rows "
      "can't be compared with each other: compare numbers computed from them, or merge `by` columns.";
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
