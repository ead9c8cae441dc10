// group_pairs: all pairs of rows within each group of rows with equal keys (wedges of a graph, candidates to compare).
//
// Row b of a group, as it comes, makes a pair with each row a of the group before it. So only what the expressions read
// of a is held, packed one after another, and b passes by: the pairs of b are one tight loop that puts the held columns
// of a and those of b side by side. A program behind it, in parallel and fused with what follows, filters and computes.
//
// A group of r rows makes r (r - 1) / 2 pairs, far more than its rows; what is made fills one batch at a time, and the
// next call goes on in the middle of the group. A group whose columns of a don't fit the memory would make more pairs
// than any disk could hold (16 million rows of 4 bytes: 10^14), so it is an error and no case for scratch.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "engine/base/error.h"
#include "engine/base/growing_bytes.h"
#include "engine/base/units.h"
#include "operators/parts/order/row_groups.h"
#include "operators/parts/rules/column_copy.h"
#include "operators/parts/rules/held_rows.h"
#include "operators/parts/rules/pair_rows.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

struct settings {
  std::vector<std::string> by;
  named_expressions let;
  std::optional<expr::expression> condition;
  void bind(const expr::scalar_values& values) { expr::bind_all(values, let, condition); }
};

// The expressions are over rows with all columns of a and b.
settings read(plan::node_checker& node, const record::row_type& pairs) {
  settings out;
  out.by = node.columns("by");
  const expr::scope scope{.row = &pairs};
  out.let = node.named_expressions("let", scope);
  if (node.has("where")) out.condition = node.condition("where", scope);
  return out;
}

// The leading keys that the output has as they are, from a or from b.
plan::order keys_kept(const plan::order& have, const settings& s, const record::row_type& pairs) {
  plan::order out;
  for (const plan::order_term& t : have) {
    if (std::find(s.by.begin(), s.by.end(), t.column) == s.by.end()) break;
    const auto carrier = std::find_if(s.let.begin(), s.let.end(), [&](const auto& column) {
      const auto from = column.second.as_column();
      return from && (pairs[*from].name == "a." + t.column || pairs[*from].name == "b." + t.column);
    });
    if (carrier == s.let.end()) break;
    plan::order_term kept = t;
    kept.column = carrier->first;
    out.push_back(std::move(kept));
  }
  return out;
}

settings check(plan::node_checker& node) {
  const record::row_type pairs = pair_type(node.input_type(), node.input_type());
  settings s = read(node, pairs);
  if (!node.ok()) return s;
  if (s.let.empty()) {
    node.fault_at_parameter("let", "group_pairs needs something to give", "let: {column: expression over a and b, …}");
    return s;
  }
  if (!s.by.empty() && !node.require_adjacent(0, s.by, {}, true)) return s;
  node.set_output(0, type_of(s.let), keys_kept(node.input_order(), s, pairs));
  return s;
}

// The rows of a group so far: the columns that pairs take from a, packed.
class held_rows {
 public:
  held_rows(const record::row_type& input, const record::row_type& pairs, const std::vector<size_t>& columns)
      : row_bytes_(0) {
    for (size_t k = 0; k < columns.size(); ++k) {
      const record::column& from = input[columns[k]];
      fields_.push_back({from.offset, row_bytes_, from.type.num_bytes, from.type.is_string()});
      FLOWRUN_CHECK(pairs[k].offset == row_bytes_);
      if (from.type.is_string()) string_offsets_.push_back(row_bytes_);
      row_bytes_ += from.type.num_bytes;
    }
  }

  void clear() {
    num_rows_ = 0;
    rows_.clear();
    heap_.clear();
  }
  void add(const std::byte* row, const std::byte* heap) {
    std::byte* const at = rows_.grow(row_bytes_);
    ++num_rows_;
    for (const field& f : fields_) {
      std::byte* to = at + f.to;
      if (f.is_string)
        store(to, record::load_string(row + f.from, heap));
      else
        copy_bytes(to, row + f.from, f.num_bytes);
    }
  }

  uint64_t num_rows() const { return num_rows_; }
  uint32_t row_bytes() const { return row_bytes_; }
  const std::byte* row(uint64_t i) const { return rows_.data() + i * row_bytes_; }
  const std::byte* heap() const { return heap_.data(); }
  const std::vector<uint32_t>& string_offsets() const { return string_offsets_; }
  uint64_t num_bytes() const { return rows_.size() + heap_.size(); }
  bool heap_is_full() const { return heap_.size() > std::numeric_limits<uint32_t>::max(); }

 private:
  struct field {
    uint32_t from, to, num_bytes;
    bool is_string;
  };
  void store(std::byte* to, std::string_view text) {
    const record::string_ref ref{static_cast<uint32_t>(heap_.size()), static_cast<uint32_t>(text.size())};
    heap_.append(text.data(), text.size());
    std::memcpy(to, &ref, sizeof ref);
  }

  std::vector<field> fields_;
  std::vector<uint32_t> string_offsets_;
  uint32_t row_bytes_;
  uint64_t num_rows_ = 0;
  growing_bytes rows_, heap_;
};

class pair_source final : public exec::source {
 public:
  pair_source(exec::build_context& c, const std::vector<std::string>& by, const pair_columns& columns)
      : node_(c.node.id),
        by_text_(joined(by, ", ")),
        memory_bytes_(c.memory_bytes),
        pairs_(pair_type(c.input_type(), columns.left, c.input_type(), columns.right)),
        in_(*c.inputs[0]),
        groups_(c.input_type(), places(c.input_type(), by)),
        held_(c.input_type(), pairs_, columns.left),
        from_b_(c.input_type(), pairs_, places(columns)),
        b_(pairs_.row_bytes() - held_.row_bytes()),
        builder_(pairs_, c.job.pool(), c.batches) {}

  const record::row_type& pairs() const { return pairs_; }

  outcome pull(exec::output& out, waker& w) override {
    while (!builder_.full()) {
      if (next_ < partners_) {
        make_pairs();
        continue;
      }
      if (has_row_) finish_row();
      if (position_ == batch_.num_rows) {
        const outcome o = next_batch(w);
        if (o.is_blocked()) return o;
        if (o.is_done()) {
          out.emit(builder_.take());
          return o;
        }
      }
      start_row();
    }
    out.emit(builder_.take());
    return outcome::ready();
  }

 private:
  static std::vector<size_t> places(const record::row_type& input, const std::vector<std::string>& names) {
    std::vector<size_t> out;
    for (const std::string& name : names) out.push_back(*input.index_of(name));
    return out;
  }
  static std::vector<std::pair<size_t, size_t>> places(const pair_columns& columns) {
    std::vector<std::pair<size_t, size_t>> out;
    for (size_t k = 0; k < columns.right.size(); ++k) out.emplace_back(columns.right[k], columns.left.size() + k);
    return out;
  }

  outcome next_batch(waker& w) {
    const record::batch* front = nullptr;
    const outcome o = in_.peek(front, w);
    if (!o.is_ready()) return o;
    if (batch_.num_rows > 0) last_ = batch_.slice(batch_.num_rows - 1, 1);
    batch_ = *front;
    position_ = 0;
    in_.pop();
    return batch_.num_rows > 0 ? o : next_batch(w);
  }

  const std::byte* current() const { return batch_.row(position_ - 1); }

  // The next row becomes b.
  void start_row() {
    ++position_;
    const bool first = position_ == 1;
    const std::byte* before = first ? last_.rows : batch_.row(position_ - 2);
    const std::byte* before_heap = first ? last_.heap : batch_.heap;
    if (before == nullptr || !groups_.equal(before, before_heap, current(), batch_.heap)) held_.clear();
    has_row_ = true;
    next_ = 0;
    partners_ = held_.num_rows();
  }

  // b has met all rows before it, and is an a for those to come.
  void finish_row() {
    has_row_ = false;
    held_.add(current(), batch_.heap);
    if (held_.num_bytes() > memory_bytes_ || held_.heap_is_full()) fail();
  }

  void make_pairs() {
    const bool strings = pairs_.has_strings();
    const auto count =
        strings ? uint64_t{1} : std::min<uint64_t>(partners_ - next_, std::max<size_t>(builder_.room(), 1));
    std::byte* to = builder_.append(count);
    const uint32_t stride = pairs_.row_bytes();
    if (strings) {
      if (held_.row_bytes() > 0) std::memcpy(to, held_.row(next_), held_.row_bytes());
      for (uint32_t offset : held_.string_offsets())
        builder_.put_string(to + offset, record::load_string(to + offset, held_.heap()));
      from_b_.copy(current(), batch_.heap, to, builder_);
    } else {
      put(to, count, stride);
    }
    next_ += count;
  }

  void put(std::byte* to, uint64_t count, uint32_t stride) {
    // b's columns first into one row, from which the others take them as one piece.
    from_b_.copy_fields(current(), to);
    const uint32_t from = held_.row_bytes();
    if (!b_.empty()) std::memcpy(b_.data(), to + from, b_.size());
    switch (from == b_.size() ? from : 0) {
      case 4: return put_fixed<uint32_t>(to, count);
      case 8: return put_fixed<uint64_t>(to, count);
      default: break;
    }
    for (uint64_t i = 0; i < count; ++i, to += stride) {
      if (from > 0) copy_bytes(to, held_.row(next_ + i), from);
      if (!b_.empty()) copy_bytes(to + from, b_.data(), static_cast<uint32_t>(b_.size()));
    }
  }

  // Where a and b give one word each, as for wedges.
  template <class Word>
  void put_fixed(std::byte* to, uint64_t count) {
    Word b;
    std::memcpy(&b, b_.data(), sizeof b);
    const std::byte* a = held_.row(next_);
    for (uint64_t i = 0; i < count; ++i, to += 2 * sizeof(Word), a += sizeof(Word)) {
      std::memcpy(to, a, sizeof(Word));
      std::memcpy(to + sizeof(Word), &b, sizeof b);
    }
  }

  [[noreturn]] void fail() const {
    throw error(error_kind::resources,
                fmt::format("node '{}': {} rows of one group ({}) don't fit its memory of {}, and would make {} pairs",
                            node_, format_count(held_.num_rows()), by_text_.empty() ? "the whole input" : by_text_,
                            format_bytes(memory_bytes_),
                            format_count(static_cast<uint64_t>(static_cast<double>(held_.num_rows()) *
                                                               static_cast<double>(held_.num_rows()) / 2))),
                "use keys with smaller groups (orient edges from low to high degree), or read fewer columns of a" +
                    or_more_memory(memory_bytes_));
  }

  std::string node_, by_text_;
  uint64_t memory_bytes_;
  record::row_type pairs_;
  exec::input_stream& in_;
  row_groups groups_;
  held_rows held_;
  column_copy from_b_;
  std::vector<std::byte> b_;  // its columns, packed
  record::batch_builder builder_;

  record::batch batch_;               // being read
  record::batch last_;                // last row of the batch before
  size_t position_ = 0;               // rows of batch_ that were begun
  bool has_row_ = false;              // b is row position_ - 1
  uint64_t next_ = 0, partners_ = 0;  // b's pairs: made, and all
};

exec::assembly build(exec::build_context& c, const settings& s) {
  const record::row_type& input = c.input_type();
  pair_columns columns;
  for (const auto& [name, value] : s.let) columns.add(value, input);
  if (s.condition) columns.add(*s.condition, input);
  // A pair of constants still needs a row to count.
  if (columns.left.empty() && columns.right.empty()) columns.left.push_back(0);

  auto source = std::make_unique<pair_source>(c, s.by, columns);
  const std::vector<size_t> places = columns.places(input);
  std::vector<program_step> steps;
  if (s.condition) steps.push_back(program_step::filter(s.condition->over(places)));
  named_expressions let;
  for (const auto& [name, value] : s.let) let.emplace_back(name, value.over(places));
  steps.push_back(program_step::map(std::move(let)));
  exec::assembly out;
  out.stages.push_back(make_program(source->pairs(), std::move(steps), c.job.pool()));
  out.head = std::move(source);
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"group_pairs">() {
  plan::operator_declaration d;
  d.name = "group_pairs";
  d.summary = "Makes a row of each pair of rows within a group of rows with equal keys.";
  d.details =
      "For two rows of a group, a is the one that comes first and b the other; `let` computes a row from a.x and b.y, "
      "and `where` drops pairs. A group of r rows makes r (r - 1) / 2 pairs, so keys should have small groups: for the "
      "triangles of a graph, edges that lead from nodes of low to nodes of high degree.\n\n"
      "Rows of a group must follow each other, as they do behind a sort by the keys. With `by: []` the whole input is "
      "one group. The pairs of a group come by b, then by a, each in the order of the input. What the expressions read "
      "of a is held in memory, for one group at a time.";
  d.order = "needs: equal keys adjacent; keeps: the leading order columns that are keys and given as a.KEY or b.KEY";
  d.example =
      "wedges: {op: group_pairs, in: oriented, with: {by: [src], let: {u: a.dst, v: b.dst}, where: \"a.dst < "
      "b.dst\"}}\n";
  d.role = plan::operator_role::meeting;
  d.division = plan::operator_division::keys;
  d.inputs = {{"in", "rows with equal keys next to each other"}};
  d.outputs = {{"out", "one row for each pair, group after group"}};
  d.parameters = {
      {.name = "by",
       .kind = plan::parameter_kind::columns,
       .required = true,
       .help = "The keys of a group; [] for all rows."},
      {.name = "let",
       .kind = plan::parameter_kind::named_expressions,
       .required = true,
       .help = "The columns of the output: expressions over a.x (the earlier row) and b.x (the later one)."},
      {.name = "where",
       .kind = plan::parameter_kind::condition,
       .help = "Which pairs to give: a condition over a.x and b.x."}};
  d.memory = [](const plan::node&, plan::node_part) {
    return plan::memory_wish{.minimum = 1 * MiB, .maximum = most_held_bytes, .weight = 0.25};
  };
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
