// merge with `less(a, b)`: streams whose order no columns express (the last step of DC3: what decides between two
// suffixes depends on the classes of both).
//
// The condition is compiled for each pair of streams (engine/expr/pair_condition.h); columns that a stream doesn't have
// are constants. So a comparison looks at a few numbers, which were computed for some rows at a time. The streams stand
// in a list by their current rows. The front gives its row; how many of the others come before its next one says where
// it goes. A few streams are all compared, by arithmetic without branches: which of them comes first can't be
// predicted, so half of the branches would be mispredicted. Among many streams the place is found by a search. Equal
// rows come in the order of the streams, so the merge is stable.
//
// No plan can prove such an order, so neighbouring rows of each stream are compared as they come: one comparison more
// per row, and a stream that is not sorted ends the job instead of giving nonsense.
#include "operators/parts/order/merge_less.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/base/error.h"
#include "engine/expr/pair_condition.h"
#include "engine/record/key.h"
#include "operators/parts/rules/column_copy.h"
#include "operators/parts/rules/estimates.h"
#include "operators/parts/rules/program.h"

namespace flowrun::operators {

namespace {

using record::row_type;

// a.input and b.input: the position of a row's stream in `in:`.
constexpr const char* input_number = "input";

// All columns of all streams; a fault where two give one name different types.
row_type all_columns(plan::node_checker& node) {
  std::vector<record::column> out;
  for (size_t i = 0; i < node.num_inputs(); ++i)
    for (const record::column& c : node.input_type(i).columns()) {
      const auto same = std::find_if(out.begin(), out.end(), [&](const record::column& o) { return o.name == c.name; });
      if (same == out.end())
        out.push_back(c);
      else if (same->type != c.type)
        node.fault_at_input(i,
                            fmt::format("'{}' is {} in '{}' and {} in a stream before it", c.name, to_string(c.type),
                                        node.input_name(i), to_string(same->type)),
                            "one type for each column", "cast it with a map in front of the merge");
    }
  return row_type(std::move(out));
}

row_type common_columns(plan::node_checker& node) {
  std::vector<record::column> out;
  for (const record::column& c : node.input_type(0).columns()) {
    bool everywhere = true;
    for (size_t i = 1; i < node.num_inputs(); ++i)
      everywhere = everywhere && node.input_type(i).index_of(c.name).has_value();
    if (everywhere) out.push_back(c);
  }
  return row_type(std::move(out));
}

// Rows of a, then of b; each with its stream's number behind its columns.
row_type scope_type(const row_type& all) {
  std::vector<record::column> out;
  for (const char* row : {"a.", "b."}) {
    for (const record::column& c : all.columns()) out.push_back({row + c.name, c.type});
    if (!all.index_of(input_number))
      out.push_back({std::string(row) + input_number, record::value_type::of(record::type_kind::u64)});
  }
  return row_type(std::move(out));
}

// What the columns of scope_type(all) are for rows of streams `a` and `b`.
std::vector<expr::pair_binding> bindings(const exec::build_context& context, const row_type& all, size_t a, size_t b) {
  std::vector<expr::pair_binding> out;
  for (const bool is_a : {true, false}) {
    const size_t stream = is_a ? a : b;
    for (const record::column& c : all.columns()) {
      expr::pair_binding& bound = out.emplace_back();
      const auto column = context.input_type(stream).index_of(c.name);
      if (!column) continue;
      bound.from = is_a ? expr::pair_binding::side::a : expr::pair_binding::side::b;
      bound.column = *column;
    }
    if (!all.index_of(input_number)) out.emplace_back().lane = stream;
  }
  return out;
}

// A stream with the lanes of its rows.
class lane_stream {
 public:
  lane_stream(exec::input_stream& in, const row_type& type, const row_type& output, uint64_t longest_row)
      : in_(&in), copy_(copied(type, output)), longest_row_(longest_row) {}

  expr::lane_list& lanes() { return list_; }
  // Once all conditions have added their lanes.
  void compile(const row_type& type) {
    num_lanes_ = list_.columns().size();
    if (num_lanes_ > 0) program_.emplace(exec::program_stage::compile(type, {program_step::map(list_.columns())}));
  }

  bool has_row() const { return position_ < end_; }
  const uint64_t* current() const { return current_; }
  void advance() {
    ++position_;
    current_ += num_lanes_;
  }

  // The next rows. ready: there is one.
  outcome fill(record::batch_pool& pool, const expr::pair_condition& less, waker& w) {
    while (!has_row()) {
      if (end_ < batch_.num_rows) {
        compute_lanes(pool);
        check_order(less);
        break;
      }
      const record::batch* front = nullptr;
      const outcome o = in_->peek(front, w);
      if (!o.is_ready()) return o;
      rows_before_ += batch_.num_rows;
      batch_ = *front;
      position_ = end_ = 0;
      in_->pop();
    }
    return outcome::ready();
  }

  void copy_row(record::batch_builder& to) { copy_.copy(batch_.row(position_), batch_.heap, to.append(), to); }

  // The number of the row that comes before its predecessor, if any.
  std::optional<uint64_t> unsorted_row() const { return unsorted_; }

 private:
  static constexpr size_t rows_at_once = 1024;  // whose lanes stay in the cache

  static column_copy copied(const row_type& from, const row_type& to) {
    std::vector<std::pair<size_t, size_t>> columns;
    for (size_t i = 0; i < to.num_columns(); ++i) columns.emplace_back(*from.index_of(to[i].name), i);
    return column_copy(from, to, columns);
  }

  // The lanes of the next rows of the batch.
  void compute_lanes(record::batch_pool& pool) {
    const size_t count = std::min(rows_at_once, batch_.num_rows - end_);
    end_ += count;
    if (num_lanes_ == 0) return;
    if (!lanes_.empty()) last_.assign(lanes_.end() - static_cast<std::ptrdiff_t>(num_lanes_), lanes_.end());
    parts_.clear();
    program_->run(batch_.slice(position_, count), 0, pool, parts_, {.row_bytes = longest_row_});
    lanes_.resize(count * num_lanes_);
    size_t at = 0;
    for (const record::batch& part : parts_) {
      std::memcpy(lanes_.data() + at, part.rows, part.num_rows * part.row_bytes);
      at += part.num_rows * num_lanes_;
    }
    current_ = lanes_.data();
  }

  void check_order(const expr::pair_condition& less) {
    if (num_lanes_ == 0) return;
    const uint64_t* before = last_.empty() ? nullptr : last_.data();
    for (size_t i = position_; i < end_; ++i) {
      const uint64_t* row = lanes_.data() + (i - position_) * num_lanes_;
      if (before != nullptr && less(row, before) && !unsorted_) unsorted_ = rows_before_ + i;
      before = row;
    }
  }

  exec::input_stream* in_;
  column_copy copy_;
  uint64_t longest_row_;  // with the texts that lanes are computed from
  expr::lane_list list_;
  std::optional<expr::row_program> program_;
  size_t num_lanes_ = 0;
  record::batch batch_;
  size_t position_ = 0, end_ = 0;       // rows of batch_ with lanes
  std::vector<uint64_t> lanes_, last_;  // row after row; of the last row before these
  const uint64_t* current_ = nullptr;   // the lanes of the row at position_
  std::vector<record::batch> parts_;
  uint64_t rows_before_ = 0;
  std::optional<uint64_t> unsorted_;
};

// Whether the current row of one stream comes before that of another, which must not come first where neither does: a
// condition, or where the other one is the first of the two in `in:`, the contrary of a condition turned round.
class comparison {
 public:
  static comparison of(const expr::pair_condition& less) { return {less, less.terms(), false}; }
  static comparison turned(const expr::pair_condition& less) {
    std::vector<term> terms = less.terms();
    for (term& t : terms) std::swap(t.a, t.b);
    return {less, std::move(terms), true};
  }

  bool operator()(const uint64_t* x, const uint64_t* y) const {
    if (general_ != nullptr) [[unlikely]]
      return if_equal_ ? !(*general_)(y, x) : (*general_)(x, y);
    const word128 of_x = both(x[first_.a] ^ first_.flip, x[second_.a] ^ second_.flip);
    const word128 of_y = both(y[first_.b] ^ first_.flip, y[second_.b] ^ second_.flip);
    if (has_more_ && of_x == of_y) [[unlikely]]
      return by_more(x, y);
    return (of_x < of_y) | ((of_x == of_y) & if_equal_);
  }

 private:
  using term = expr::pair_condition::term;
  using word128 = record::word128;

  comparison(const expr::pair_condition& less, std::vector<term> terms, bool if_equal)
      : if_equal_(if_equal), general_(less.is_lexicographic() ? nullptr : &less) {
    if (general_ != nullptr) return;
    first_ = terms[0];
    // A single term is its own second one, which is equal whenever the first one is.
    second_ = terms.size() > 1 ? terms[1] : terms[0];
    if (terms.size() > 2) more_.assign(terms.begin() + 2, terms.end());
    has_more_ = !more_.empty();
  }
  static word128 both(uint64_t high, uint64_t low) { return static_cast<word128>(high) << 64 | low; }
  bool by_more(const uint64_t* x, const uint64_t* y) const {
    for (const term& t : more_) {
      const uint64_t a = x[t.a] ^ t.flip, b = y[t.b] ^ t.flip;
      if (a != b) return a < b;
    }
    return if_equal_;
  }

  // Of a lexicographic one; there are two at least.
  term first_{}, second_{};
  bool has_more_ = false;
  bool if_equal_ = false;
  const expr::pair_condition* general_ = nullptr;
  std::vector<term> more_;
};

class merge_less_source final : public exec::source {
 public:
  merge_less_source(exec::build_context& c, const merge_condition& by)
      : node_(c.node.id), pool_(c.job.pool()), builder_(c.output_type(), c.job.pool(), c.batches) {
    const size_t num_streams = c.inputs.size();
    for (size_t i = 0; i < num_streams; ++i) {
      streams_.emplace_back(*c.inputs[i], c.input_type(i), c.output_type(), c.batches.row_bytes);
      names_.push_back(c.input_name(i));
      waiting_.push_back(num_streams - 1 - i);
    }
    for (size_t a = 0; a < num_streams; ++a)
      for (size_t b = 0; b <= a; ++b)
        conditions_.emplace_back(by.less, bindings(c, by.columns, a, b), streams_[a].lanes(), streams_[b].lanes());
    for (size_t i = 0; i < num_streams; ++i) streams_[i].compile(c.input_type(i));
    current_.resize(num_streams);
    for (size_t y = 0; y < num_streams; ++y)
      for (size_t x = 0; x < num_streams; ++x)
        comparisons_.push_back(x >= y ? comparison::of(condition(x, y)) : comparison::turned(condition(y, x)));
  }

  outcome pull(exec::output& out, waker& w) override {
    while (!builder_.full()) {
      while (!waiting_.empty()) {
        const size_t i = waiting_.back();
        const outcome o = streams_[i].fill(pool_, condition(i, i), w);
        if (streams_[i].unsorted_row()) fail(i);
        if (o.is_blocked()) return o;
        waiting_.pop_back();
        if (!o.is_ready()) continue;
        current_[i] = streams_[i].current();
        order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(num_before(i, 0)), i);
      }
      if (order_.empty()) {
        out.emit(builder_.take());
        return outcome::done();
      }
      merge_rows();
    }
    out.emit(builder_.take());
    return outcome::ready();
  }

 private:
  // For a row of stream `a` and one of stream `b` <= `a`.
  const expr::pair_condition& condition(size_t a, size_t b) const { return conditions_[a * (a + 1) / 2 + b]; }

  // The current row of x comes before that of y, another stream.
  bool before(size_t x, size_t y) const { return comparisons_[y * streams_.size() + x](current_[x], current_[y]); }

  // How many of the streams from the place `from` on come before this one.
  size_t num_before(size_t stream, size_t from) const {
    if (order_.size() - from <= few_streams) {
      const comparison* of_stream = comparisons_.data() + stream * streams_.size();
      const uint64_t* row = current_[stream];
      size_t count = 0;
      for (size_t i = from; i < order_.size(); ++i)
        count += static_cast<size_t>(of_stream[order_[i]](current_[order_[i]], row));
      return count;
    }
    const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(from);
    return static_cast<size_t>(
        std::partition_point(begin, order_.end(), [&](size_t other) { return before(other, stream); }) - begin);
  }

  // Until the builder is full or a stream needs its next batch.
  void merge_rows() {
    while (!builder_.full()) {
      const size_t front = order_.front();
      lane_stream& in = streams_[front];
      in.copy_row(builder_);
      in.advance();
      current_[front] = in.current();
      if (!in.has_row()) {
        order_.erase(order_.begin());
        waiting_.push_back(front);
        return;
      }
      // (Among few streams all are compared, so there is no point in asking for the second one first.)
      if (order_.size() > few_streams + 1 && before(front, order_[1])) continue;
      const size_t place = num_before(front, 1);
      for (size_t i = 0; i < place; ++i) order_[i] = order_[i + 1];
      order_[place] = front;
    }
  }

  [[noreturn]] void fail(size_t stream) const {
    const uint64_t row = *streams_[stream].unsorted_row();
    throw error(error_kind::bad_data,
                fmt::format("node '{}': '{}' is not sorted by `less`: its row {} comes before row {} (counted from 0)",
                            node_, names_[stream], row, row - 1),
                "sort it in the order of `less`, which must hold for rows of one input as well as of two");
  }

  static constexpr size_t few_streams = 8;

  std::string node_;
  record::batch_pool& pool_;
  record::batch_builder builder_;
  std::vector<lane_stream> streams_;
  std::vector<std::string> names_;
  std::vector<expr::pair_condition> conditions_;
  std::vector<comparison> comparisons_;   // whether one of x comes before one of y, by y and x
  std::vector<const uint64_t*> current_;  // the lanes of each stream's row
  std::vector<size_t> order_;             // streams with a row, the one in front first
  std::vector<size_t> waiting_;           // streams whose batch is used up
};

}  // namespace

std::optional<merge_condition> check_merge_less(plan::node_checker& node) {
  const row_type all = all_columns(node);
  const row_type scope = scope_type(all);
  const auto less = node.condition("less", expr::scope{.row = &scope});
  if (!node.ok()) return std::nullopt;
  std::vector<bool> is_a;
  for (size_t k = 0; k < scope.num_columns(); ++k) is_a.push_back(k < scope.num_columns() / 2);
  for (const expr::problem& p : expr::can_pair(*less, is_a))
    node.fault_at_parameter("less", p.message, p.expected, p.hint);
  const row_type output = common_columns(node);
  if (output.num_columns() == 0)
    node.fault_at_node("the inputs have no column in common, so there is nothing to give",
                       "a column that all inputs have");
  if (!node.ok()) return std::nullopt;
  plan::row_estimate estimate;
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    const plan::row_estimate mine = with_type(node.input_estimate(i), node.input_type(i), output);
    estimate = i == 0 ? mine : sum(estimate, mine);
  }
  node.set_output(0, output, {}, estimate);
  return merge_condition{all, *less};
}

std::unique_ptr<exec::source> make_merge_less(exec::build_context& c, const merge_condition& condition) {
  return std::make_unique<merge_less_source>(c, condition);
}

}  // namespace flowrun::operators
