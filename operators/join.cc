// join: two streams sorted by a common key, merged (a merge join needs no more memory than one group of equal keys).
//
// Rows with equal keys on both sides make all pairs, in the order of left and then of right. The first left row of a
// group takes the right rows as they stream by; they are kept for the next left row of the same key for as long as they
// fit the node's memory. So a huge group on one side only is no trouble; one that is huge on both sides is an error
// that says so.
//
// Both inputs are read to their ends, also when no more rows can come of it: what feeds them may feed others as well.
#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/exec/vector_stages.h"
#include "operators/parts/files/indexed_file.h"
#include "operators/parts/order/join_group.h"
#include "operators/parts/order/join_settings.h"
#include "operators/parts/order/row_order.h"
#include "operators/parts/order/skip_join.h"
#include "operators/parts/order/stream_cursor.h"
#include "operators/parts/rules/column_copy.h"
#include "operators/parts/rules/held_rows.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

// What `matched` says about a row.
enum class found_in : uint8_t { left = 1, right = 2, both = 3 };

std::vector<std::pair<size_t, size_t>> left_columns(const record::row_type& left) {
  std::vector<std::pair<size_t, size_t>> out;
  for (size_t i = 0; i < left.num_columns(); ++i) out.emplace_back(i, i);
  return out;
}

// The columns of right behind those of left: all but the keys.
std::vector<std::pair<size_t, size_t>> right_columns(const record::row_type& left, const record::row_type& right,
                                                     const join_settings& s) {
  std::vector<std::pair<size_t, size_t>> out;
  if (!s.gives_right_columns()) return out;
  for (size_t i = 0; i < right.num_columns(); ++i)
    if (!s.is_right_key(right[i].name)) out.emplace_back(i, left.num_columns() + out.size());
  return out;
}

// The keys of right into the keys of left, for rows without a left side.
std::vector<std::pair<size_t, size_t>> key_columns(const record::row_type& left, const record::row_type& right,
                                                   const join_settings& s) {
  std::vector<std::pair<size_t, size_t>> out;
  for (const auto& [l, r] : s.by) out.emplace_back(*right.index_of(r), *left.index_of(l));
  return out;
}

// How a left and a right row compare by their keys. Ids, which most keys are, are compared in place.
class key_comparator {
 public:
  key_comparator(const record::row_type& left, const record::key& left_key, const record::row_type& right,
                 const record::key& right_key)
      : rows_(left, left_key, right, right_key) {
    const record::column& l = left[left_key.front().column];
    if (left_key.size() != 1 || left_key.front().length > 0 || !l.type.is_unsigned()) return;
    if (l.type.num_bytes != 4 && l.type.num_bytes != 8) return;
    id_bytes_ = l.type.num_bytes;
    left_offset_ = l.offset;
    right_offset_ = right[right_key.front().column].offset;
    descending_ = left_key.front().descending;
  }

  int compare(const std::byte* l, const std::byte* left_heap, const std::byte* r, const std::byte* right_heap) const {
    if (id_bytes_ == 4) return compare_ids<uint32_t>(l, r);
    if (id_bytes_ == 8) return compare_ids<uint64_t>(l, r);
    return rows_.compare(l, left_heap, r, right_heap);
  }
  const record::row_comparator& rows() const { return rows_; }

 private:
  template <class Id>
  int compare_ids(const std::byte* l, const std::byte* r) const {
    Id a, b;
    std::memcpy(&a, l + left_offset_, sizeof a);
    std::memcpy(&b, r + right_offset_, sizeof b);
    const int order = a < b ? -1 : a > b ? 1 : 0;
    return descending_ ? -order : order;
  }

  record::row_comparator rows_;
  uint32_t id_bytes_ = 0;  // of a key that is a single id; 0 for any other key
  uint32_t left_offset_ = 0, right_offset_ = 0;
  bool descending_ = false;
};

class join_source final : public exec::source {
 public:
  // `skipping` is null, or it is `right` as a stream that can leave out rows that no left row asks for.
  join_source(exec::build_context& c, const join_settings& s, exec::input_stream& left, exec::input_stream& right,
              skipping_stream* skipping)
      : node_(c.node.id),
        left_name_(c.input_name(0)),
        right_name_(c.input_name(1)),
        kind_(s.kind),
        left_key_(key_of(c.input_type(0), s.left_order)),
        right_key_(key_of(c.input_type(1), s.right_order)),
        left_words_(c.input_type(0), left_key_),
        right_words_(c.input_type(1), right_key_),
        compare_(c.input_type(0), left_key_, c.input_type(1), right_key_),
        left_(left, skipping == nullptr ? &left_words_ : nullptr),
        right_(right, skipping == nullptr ? &right_words_ : nullptr),
        skipping_(skipping),
        from_left_(c.input_type(0), c.output_type(), left_columns(c.input_type(0))),
        from_right_(c.input_type(1), c.output_type(), right_columns(c.input_type(0), c.input_type(1), s)),
        keys_from_right_(c.input_type(1), c.output_type(), key_columns(c.input_type(0), c.input_type(1), s)),
        row_bytes_(c.output_type().row_bytes()),
        has_matched_(!s.matched.empty()),
        builder_(c.output_type(), c.job.pool(), c.batches),
        group_(c.input_type(1), c.job.pool(), c.batches.target_bytes,
               skipping == nullptr ? c.memory_bytes : c.memory_bytes / 2) {}

  outcome pull(exec::output& out, waker& w) override {
    for (;;) {
      const outcome o = step(w);
      if (o.is_blocked()) return o;
      if (builder_.full() || o.is_done()) {
        out.emit(builder_.take());
        return o;
      }
    }
  }

 private:
  enum class state { seeking, streaming, replaying, draining };

  // Works until the builder is full, an input has no row, or the end.
  outcome step(waker& w) {
    switch (state_) {
      case state::seeking: return seek(w);
      case state::streaming: return stream(w);
      case state::replaying: return replay(w);
      case state::draining: return drain(w);
    }
    return outcome::done();
  }

  int compare_current() const {
    // Only a few rows of a stored batch are looked at, so making words of all its rows would cost more than it saves.
    if (skipping_ != nullptr) return compare_.compare(left_.row(), left_.heap(), right_.row(), right_.heap());
    const uint64_t l = left_.word();
    const uint64_t r = right_.word();
    if (l != r) return l < r ? -1 : 1;
    return left_words_.exact() ? 0 : compare_.compare(left_.row(), left_.heap(), right_.row(), right_.heap());
  }

  outcome seek(waker& w) {
    while (!builder_.full()) {
      const outcome left = left_.fill(w);
      if (left.is_blocked()) return left;
      if (skipping_ != nullptr && left.is_ready() && !right_.has_row() && !right_.ended())
        skipping_->seek(compare_.rows(), left_.row(), left_.heap());
      const outcome right = skipping_ != nullptr && left.is_done() ? left : right_.fill(w);
      if (right.is_blocked()) return right;
      const bool needs_both = kind_ == join_kind::inner || kind_ == join_kind::semi;
      if ((left.is_done() && kind_ != join_kind::full) || (right.is_done() && (left.is_done() || needs_both))) {
        state_ = state::draining;
        return outcome::ready();
      }
      const int order = right.is_done() ? -1 : left.is_done() ? 1 : compare_current();
      if (order < 0) {
        if (kind_ == join_kind::left || kind_ == join_kind::full || kind_ == join_kind::anti) put_left();
        left_.advance();
      } else if (order > 0) {
        if (kind_ == join_kind::full) put_right();
        right_.advance(skipping_ == nullptr ? 1 : num_rows_before_left());
      } else if (kind_ == join_kind::semi || kind_ == join_kind::anti) {
        if (kind_ == join_kind::semi) put_left();
        left_.advance();
      } else if (kind_ != join_kind::full && is_alone(right_)) {
        put_left_rows();
      } else {
        repeats_ = !is_alone(left_);
        if (repeats_) group_.start(right_.rows(), right_.position());
        state_ = state::streaming;
        return outcome::ready();
      }
    }
    return outcome::ready();
  }

  // For current rows with equal keys: whether the row of `side` is known to be the last one of its stream with this
  // key.
  bool is_alone(const stream_cursor& side) const {
    const size_t next = side.position() + 1;
    if (next >= side.rows().num_rows) return false;
    const std::byte* row = side.rows().row(next);
    return &side == &left_ ? compare_.compare(row, side.heap(), right_.row(), right_.heap()) != 0
                           : compare_.compare(left_.row(), left_.heap(), row, side.heap()) != 0;
  }

  // Makes pairs of the left rows of the current batch with the right row, which is the only one of its key. The right
  // row stays current for the left rows of the next batch.
  void put_left_rows() {
    do {
      put_pair(right_.row(), right_.heap());
      left_.advance();
    } while (left_.has_row() && !builder_.full() && compare_current() == 0);
  }

  // How many right rows of the current batch come before the left row. The current right row does. Searches in steps
  // that double.
  size_t num_rows_before_left() const {
    const record::batch& rows = right_.rows();
    const auto before = [&](size_t i) {
      return compare_.compare(left_.row(), left_.heap(), rows.row(i), rows.heap) > 0;
    };
    size_t low = right_.position(), step = 1;
    while (low + step < rows.num_rows && before(low + step)) {
      low += step;
      step *= 2;
    }
    size_t high = std::min(low + step, rows.num_rows);
    while (high - low > 1) {
      const size_t middle = low + (high - low) / 2;
      (before(middle) ? low : high) = middle;
    }
    return high - right_.position();
  }

  // The first left row of a group with the right rows of the same key, as they come.
  outcome stream(waker& w) {
    for (;;) {
      const outcome right = right_.fill(w);
      if (right.is_blocked()) return right;
      if (right.is_done()) break;
      const size_t first = right_.position();
      bool same = true;
      while (right_.has_row() && !builder_.full() && (same = compare_current() == 0)) {
        put_pair(right_.row(), right_.heap());
        right_.advance();
      }
      if (repeats_) group_.keep(right_.rows(), first, right_.position() - first);
      if (builder_.full()) return outcome::ready();  // the current left row stays: streaming goes on
      if (!same) break;
    }
    left_.advance();
    if (!repeats_) {
      state_ = state::seeking;
      return outcome::ready();
    }
    group_.finish();
    next_slice_ = next_row_ = 0;
    state_ = state::replaying;
    return outcome::ready();
  }

  // The other left rows of the group with the kept right rows.
  outcome replay(waker& w) {
    for (;;) {
      if (next_slice_ == 0 && next_row_ == 0) {  // a new left row
        const outcome left = left_.fill(w);
        if (left.is_blocked()) return left;
        if (left.is_done() || !in_group()) {
          state_ = state::seeking;
          return outcome::ready();
        }
        if (group_.too_large()) fail();
      }
      while (next_slice_ < group_.parts().size()) {
        const record::batch& slice = group_.parts()[next_slice_];
        while (next_row_ < slice.num_rows) {
          if (builder_.full()) return outcome::ready();
          put_pair(slice.row(next_row_), slice.heap);
          ++next_row_;
        }
        ++next_slice_;
        next_row_ = 0;
      }
      left_.advance();
      next_slice_ = 0;
    }
  }

  // The current left row has the key of the group.
  bool in_group() const {
    return compare_.compare(left_.row(), left_.heap(), group_.first_row().row(0), group_.first_row().heap) == 0;
  }

  outcome drain(waker& w) {
    for (stream_cursor* in : {&left_, &right_}) {
      if (in == &right_ && skipping_ != nullptr) break;
      outcome o = in->fill(w);
      for (; o.is_ready(); o = in->fill(w)) in->advance(in->rows_left());
      if (o.is_blocked()) return o;
    }
    return outcome::done();
  }

  std::byte* put(found_in where) {
    std::byte* to = builder_.append();
    if (where != found_in::both) std::memset(to, 0, row_bytes_);
    if (has_matched_) to[row_bytes_ - 1] = static_cast<std::byte>(where);
    return to;
  }
  void put_pair(const std::byte* right, const std::byte* right_heap) {
    std::byte* to = put(found_in::both);
    from_left_.copy(left_.row(), left_.heap(), to, builder_);
    from_right_.copy(right, right_heap, to, builder_);
  }
  void put_left() {
    std::byte* to = put(found_in::left);
    from_left_.copy(left_.row(), left_.heap(), to, builder_);
  }
  void put_right() {
    std::byte* to = put(found_in::right);
    keys_from_right_.copy(right_.row(), right_.heap(), to, builder_);
    from_right_.copy(right_.row(), right_.heap(), to, builder_);
  }

  [[noreturn]] void fail() const {
    throw error(
        error_kind::resources,
        fmt::format(
            "node '{}': '{}' has more rows of one key than fit its memory of {}, and '{}' has several rows of that key",
            node_, right_name_, format_bytes(group_.memory_bytes()), left_name_),
        (kind_ == join_kind::inner ? "swap left and right if left has fewer rows of each key"
                                   : "make rows of one key fewer") +
            or_more_memory(group_.memory_bytes()));
  }

  std::string node_;
  std::string left_name_, right_name_;
  join_kind kind_;
  record::key left_key_, right_key_;
  record::key_fronts left_words_, right_words_;
  key_comparator compare_;
  stream_cursor left_, right_;
  skipping_stream* skipping_;
  column_copy from_left_, from_right_, keys_from_right_;
  uint32_t row_bytes_;
  bool has_matched_;
  record::batch_builder builder_;
  join_group group_;

  state state_ = state::seeking;
  bool repeats_ = false;                  // streaming: the next left row may have the same key
  size_t next_slice_ = 0, next_row_ = 0;  // replaying: the next right row of the current left row
};

// What a skipping join reads.
struct skipping_inputs {
  pushed_stream left;
  std::unique_ptr<skipping_stream> right;
};

exec::assembly build(exec::build_context& c, const join_settings& s) {
  exec::assembly out;
  if (s.skip) {
    auto inputs = std::make_shared<skipping_inputs>();
    inputs->right = c.node.facts.seeks_in_file
                        ? open_indexed_file(c, c.node.facts.seeks_in_file->path, 1, c.memory_bytes / 2)
                        : make_skipping_stream(std::any_cast<exec::shared_rows>(c.states[1]), c.memory_bytes / 2,
                                               c.batches.target_bytes);
    auto work = std::make_unique<join_source>(c, s, inputs->left, *inputs->right, inputs->right.get());
    pushed_stream& left = inputs->left;
    out.stages.emplace_back(make_pushed_stage(std::move(work), left, std::move(inputs)));
    return out;
  }
  out.head = std::make_unique<join_source>(c, s, *c.inputs[0], *c.inputs[1], nullptr);
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"join">() {
  plan::operator_declaration d;
  d.name = "join";
  d.summary = "Joins two sorted streams by equal keys.";
  d.details =
      "inner gives each pair of rows with equal keys; left also the left rows without a partner; full also the right "
      "rows without one; semi the left rows that have a partner, once; anti those that have none. The output has the "
      "columns of left, then (except for semi and anti) the columns of right without its keys; `rename` gives these "
      "other names where left has the same. There is no NULL: what a missing side would have given is 0, false or "
      "empty text; `matched` tells such rows from others.\n\n"
      "With `skip` the right rows are stored first, with an index, and only those blocks are read in which a left key "
      "may be: for a few left rows and many right ones, as in each round of a breadth-first search. A stream that a "
      "loop carries or gets from outside is stored already, so it costs nothing there. A file.read_rows with `index: "
      "true` as the right input is not stored either: the join reads the blocks it needs from the file itself.\n\n"
      "Rows of one key on both sides make all pairs, by the order of the left rows, and of one left row by the order "
      "of the right ones. Where both sides have several, the right ones are held in memory.";
  d.order =
      "needs: both inputs sorted by the keys, with the same directions; keeps: the order of left (full: of the keys "
      "only)";
  d.example =
      "known: {op: join, in: {left: orders, right: customers}, with: {by: {customer: id}, kind: left, matched: "
      "found}}\n"
      "fresh: {op: join, in: {left: reached, right: visited}, with: {by: [node], kind: anti}}\n";
  d.role = plan::operator_role::meeting;
  d.division = plan::operator_division::keys;
  d.inputs = {{"left", "sorted by its keys; its order is kept"}, {"right", "sorted by its keys"}};
  d.outputs = {{"out", "the joined rows"}};
  d.parameters = join_parameters();
  d.memory = [](const plan::node&, plan::node_part) {
    return plan::memory_wish{.minimum = 1 * MiB, .maximum = most_held_bytes, .weight = 0.25};
  };
  return exec::define<join_settings>(std::move(d), check_join, build);
}

}  // namespace flowrun::operators
