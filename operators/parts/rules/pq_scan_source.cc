#include "operators/parts/rules/pq_scan_source.h"

#include <bit>
#include <optional>

#include "engine/base/error.h"
#include "engine/container/priority_queue.h"
#include "engine/exec/node_work.h"
#include "engine/expr/kernels.h"
#include "engine/record/float_text.h"
#include "engine/record/value_text.h"
#include "operators/parts/rules/pq_scan_program.h"

namespace flowrun::operators {

namespace {

using container::get_bits;
using container::priority_queue;
using container::put_bits;
using record::word128;

// Events between two looks at the outside.
constexpr size_t events_per_pull = 1 << 15;

// The order columns of an input's rows.
class order_keys {
 public:
  order_keys(const record::row_type& row, const plan::order& order, const std::vector<ordered_field>& fields) {
    for (size_t i = 0; i < order.size(); ++i) parts_.push_back({row[*row.index_of(order[i].column)].offset, fields[i]});
  }

  template <class Key>
  void compute(const std::byte* rows, size_t row_bytes, size_t num_rows, Key* keys) const {
    for (size_t i = 0; i < parts_.size(); ++i) {
      const part& p = parts_[i];
      const bool plain = p.field.plain();
      const std::byte* from = rows + p.offset;
      const auto put = [&](auto bits) {
        for (size_t r = 0; r < num_rows; ++r, from += row_bytes) {
          const Key value = static_cast<Key>(bits(from)) << p.field.shift;
          keys[r] = i == 0 ? value : keys[r] | value;
        }
      };
      if (plain && p.field.type.num_bytes == 4)
        put([](const std::byte* at) { return load<uint32_t>(at); });
      else if (plain && p.field.type.num_bytes == 8)
        put([](const std::byte* at) { return load<uint64_t>(at); });
      else if (plain)
        put([&](const std::byte* at) { return record::load_unsigned(at, p.field.type.num_bytes); });
      else
        put([&](const std::byte* at) {
          const uint64_t bits = record::order_bits(p.field.type.kind, p.field.type.num_bytes,
                                                   record::load_unsigned(at, p.field.type.num_bytes));
          return p.field.descending ? bits ^ p.field.mask() : bits;
        });
    }
  }

 private:
  struct part {
    uint32_t offset;
    ordered_field field;
  };
  template <class Number>
  static uint64_t load(const std::byte* at) {
    Number value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::vector<part> parts_;
};

void store(const emitted_field& f, std::byte* row, uint64_t lane) {
  std::byte* to = row + f.offset;
  switch (f.type.is_float() ? 0 : f.type.num_bytes) {
    case 1: std::memcpy(to, &lane, 1); return;
    case 4: std::memcpy(to, &lane, 4); return;
    case 8: std::memcpy(to, &lane, 8); return;
    default: expr::kernels().store[static_cast<size_t>(f.type.kind)](to, 0, &lane, 1);
  }
}

// "{node: 5, dist: -1}"
std::string text_of(const std::vector<std::pair<std::string, std::pair<record::value_type, uint64_t>>>& columns) {
  std::string out;
  for (const auto& [name, value] : columns) {
    const auto& [type, lane] = value;
    out += fmt::format("{}{}: ", out.empty() ? "{" : ", ", name);
    if (type.is_time() || type.is_decimal())
      out += record::value_text(type, reinterpret_cast<const std::byte*>(&lane), nullptr);
    else if (type.is_float())
      out += record::float_text(std::bit_cast<double>(lane));
    else if (type.is_signed())
      out += fmt::format("{}", static_cast<int64_t>(lane));
    else
      out += type.is_boolean() ? (lane != 0 ? "true" : "false") : fmt::format("{}", lane);
  }
  return out + "}";
}

template <class Key, class Item>
class pq_scan_source final : public exec::source {
 public:
  pq_scan_source(exec::build_context& c, pq_scan_settings s)
      : node_(c.node.id),
        settings_(std::move(s)),
        message_fields_(item_fields(settings_.message, settings_.order)),
        order_fields_(fields_of_order(settings_)),
        max_pushes_(settings_.num_pushes()),
        at_end_(settings_, rule_program::kind::end, "", settings_.group, prepared_state(), c.job.pool()),
        on_message_(settings_, rule_program::kind::messages, "", settings_.message, state_, c.job.pool()),
        queue_(queue_settings(c, settings_)) {
    const auto bits_of = [](const ordered_field& f) { return f.num_bits(); };
    for (const ordered_field& f : order_fields_) order_bits_ += bits_of(f);
    for (size_t i = 0; i < settings_.num_group; ++i) group_bits_ += bits_of(order_fields_[i]);
    unsigned message_order_bits = 0;
    // The order columns of a message are the first ones of its item; those it lacks are the key's constant end.
    while (num_message_order_ < std::min(settings_.order.size(), settings_.message.num_columns()) &&
           settings_.message[num_message_order_].name == settings_.order[num_message_order_].column)
      message_order_bits += bits_of(order_fields_[num_message_order_++]);
    for (size_t i = num_message_order_; i < order_fields_.size(); ++i)
      key_end_ |= static_cast<Key>(order_fields_[i].zero()) << order_fields_[i].shift;
    for (const ordered_field& f : message_fields_) put_bits(zero_message_, f.zero(), f.shift, f.num_bits());
    item_shift_ = 8 * settings_.message.row_bytes() - message_order_bits;
    key_shift_ = order_bits_ - message_order_bits;

    for (size_t i = 0; i < c.inputs.size(); ++i)
      inputs_.push_back(std::make_unique<input>(*c.inputs[i], settings_, c.node.inputs[i].name, c.input_type(i),
                                                order_fields_, state_, c.job.pool()));
    for (const auto& [column, lane] : on_message_.code().columns_used())
      decoded_.push_back({message_fields_[column], lane});
    for (const auto& [column, lane] : at_end_.code().columns_used())
      group_columns_.push_back({order_fields_[column], lane});
    for (const record::row_type& type : settings_.outputs) builders_.emplace_back(type, c.job.pool(), c.batches);
  }

  outcome pull(exec::output& out, waker& w) override {
    out_ = &out;
    emitted_ = false;
    for (size_t events = events_per_pull; events > 0 && !emitted_;) {
      for (auto& in : inputs_) {
        const outcome o = fill(*in, w);
        if (o.is_blocked()) return o;
      }
      if (const outcome o = queue_.make_room(max_pushes_, w); o.is_blocked()) return o;
      if (const outcome o = queue_.refill(w); o.is_blocked()) return o;
      if (advance(events)) continue;
      for (unsigned port = 0; port < builders_.size(); ++port) out.emit(builders_[port].take(), port);
      return outcome::done();
    }
    return outcome::ready();
  }

 private:
  struct input {
    input(exec::input_stream& stream, const pq_scan_settings& s, const std::string& port, const record::row_type& type,
          const std::vector<ordered_field>& fields, expr::event_state& state, record::batch_pool& pool)
        : name(port),
          from(stream),
          order(type, s.order, fields),
          rules(s, rule_program::kind::input, port, type, state, pool),
          keys(rules.code().rows_per_chunk()),
          messages(rules.code().sends_rows() ? keys.size() + priority_queue<Item>::few_items : 0) {}

    // Where the rows end that have the key, from the current one on.
    size_t end_of(Key key) const {
      constexpr size_t few = 4;  // counted without a branch that could be mispredicted
      size_t end = row;
      while (num_rows - end >= few) {
        size_t count = 0;
        for (size_t i = 0; i < few; ++i) count += keys[end + i] == key ? 1 : 0;
        end += count;
        if (count < few) return end;
      }
      while (end < num_rows && keys[end] == key) ++end;
      return end;
    }
    uint64_t row_number() const { return rows_before + first + row; }

    const std::string name;
    exec::input_stream& from;
    const order_keys order;
    rule_program rules;
    std::vector<Key> keys;       // of the chunk
    std::vector<Item> messages;  // what the chunk's rows push, if the rules are of that kind; few_items more
    bool may_send = false;       // all of these are later than their rows
    size_t row = 0, num_rows = 0;
    record::batch batch;
    size_t first = 0;  // where the chunk begins
    uint64_t rows_before = 0;
    bool ended = false;
  };
  struct decoded_column {
    ordered_field field;
    uint64_t* lane;
  };

  static std::vector<ordered_field> fields_of_order(const pq_scan_settings& s) {
    std::vector<record::column> columns;
    for (const plan::order_term& term : s.order) columns.push_back(s.event[*s.event.index_of(term.column)]);
    return item_fields(record::row_type(std::move(columns)), s.order);
  }
  expr::event_state& prepared_state() {
    for (const expr::expression& value : settings_.initial) state_.initial.push_back(value.constant_bits().value());
    state_.cells = state_.initial;
    return state_;
  }
  static container::priority_queue_settings queue_settings(exec::build_context& c, const pq_scan_settings& s) {
    exec::services* job = &c.job;
    container::priority_queue_settings out;
    out.blocks = &job->blocks();
    out.post = exec::node_poster(c.job, c.counters);
    out.memory_bytes = s.num_pushes() > 0 ? c.memory_bytes : 0;
    out.item_bytes = sizeof(Item) <= 16 ? s.message.row_bytes() : 0;
    out.block_bytes = static_cast<uint32_t>(job->options().block_bytes);
    out.force_spill = job->options().force_spill;
    return out;
  }

  Key key_of(const Item& message) const {
    if constexpr (!container::is_wide_item<Item>) {
      return static_cast<Key>(message >> item_shift_) << key_shift_ | key_end_;
    } else {
      Key key = key_end_;
      for (size_t i = 0; i < num_message_order_; ++i)
        key |= static_cast<Key>(get_bits(message, message_fields_[i].shift, message_fields_[i].num_bits()))
               << order_fields_[i].shift;
      return key;
    }
  }
  // Whether the key of `message` is that of `first`, which is not above it.
  auto same_key_as(const Item& first) const {
    if constexpr (!container::is_wide_item<Item>) {
      const Item last = static_cast<Item>(first | ((Item{1} << item_shift_) - 1));
      return [last](const Item& message) { return message <= last; };
    } else {
      return [this, key = key_of(first)](const Item& message) { return key_of(message) == key; };
    }
  }
  Key group_of(Key key) const { return group_bits_ == 0 ? Key{0} : key >> (order_bits_ - group_bits_); }

  // There is a current row, or the stream has ended.
  outcome fill(input& in, waker& w) {
    while (in.row == in.num_rows && !in.ended) {
      const size_t next = in.first + in.num_rows;
      if (next == in.batch.num_rows) {
        const record::batch* front = nullptr;
        const outcome o = in.from.peek(front, w);
        if (o.is_blocked()) return o;
        in.rows_before += in.batch.num_rows;
        in.first = in.row = in.num_rows = 0;
        in.batch = {};
        in.ended = o.is_done();
        if (in.ended) break;
        in.batch = *front;
        in.from.pop();
        continue;
      }
      in.first = next;
      in.row = 0;
      const std::byte* rows = in.batch.row(in.first);
      const size_t most = std::min(in.keys.size(), in.batch.num_rows - in.first);
      in.num_rows = in.rules.code().load(rows, in.batch.row_bytes, most);
      in.order.compute(rows, in.batch.row_bytes, in.num_rows, in.keys.data());
      if (in.rules.code().sends_rows()) make_messages(in);
    }
    return outcome::ready();
  }

  // What the rows of a chunk will push if the rule holds.
  void make_messages(input& in) const {
    const expr::compiled_rule& rule = *in.rules.code().only_rule();
    std::fill_n(in.messages.begin(), in.num_rows, zero_message_);
    const std::vector<ordered_field>& to = in.rules.targets(rule).pushed;
    for (size_t i = 0; i < to.size(); ++i)
      for (size_t r = 0; r < in.num_rows; ++r) put_field(in.messages[r], to[i], rule.pushed[i].get(r));
    size_t num_later = 0;
    for (size_t r = 0; r < in.num_rows; ++r) num_later += in.keys[r] < key_of(in.messages[r]) ? 1 : 0;
    in.may_send = num_later == in.num_rows;
  }

  // Works until an input has no row, the queue needs something, or so many events have happened. False when no events
  // are left.
  //
  // Events with the same key are gone through together: its messages, then its rows of one input after the other. What
  // they push is later, so nothing comes in between.
  bool advance(size_t& events) {
    while (events > 0) {
      bool any = false;
      Key key = 0;
      for (const auto& in : inputs_) {
        if (in->row == in->num_rows) {
          if (!in->ended) return true;
          continue;
        }
        const Key here = in->keys[in->row];
        key = any ? std::min(key, here) : here;
        any = true;
      }
      const bool has_message = queue_.has_top();
      if (!has_message && !queue_.empty()) return true;
      bool message_is_now = false;
      if (has_message) {
        const Key here = key_of(queue_.top());
        message_is_now = !any || !(key < here);
        key = message_is_now ? here : key;
        any = true;
      }
      if (open_ && (!any || group_of(key) != group_)) {
        if (at_end_.code().pushes() && queue_.room() < max_pushes_) return true;
        end_group();
        if (at_end_.code().pushes()) continue;  // another key may be the next
      }
      if (!any) return false;
      if (!open_) begin_group(key);
      now_ = key;
      if (message_is_now && !take_messages(events)) return true;
      for (const auto& in : inputs_)
        if (!take_rows(*in, events)) return true;
    }
    return true;
  }

  // Takes the messages with this key, of which there is at least one. False when there may be more of them.
  bool take_messages(size_t& events) {
    const auto is_now = same_key_as(queue_.top());
    current_ = nullptr;
    if (on_message_.code().same_again()) {
      events -= std::min(events, queue_.pop_while(is_now));
      happen(on_message_, 0);
    } else {
      for (; queue_.has_top() && is_now(queue_.top()); --events) {
        if (events == 0 || (on_message_.code().pushes() && queue_.room() < max_pushes_)) return false;
        const Item message = queue_.top();
        for (const decoded_column& c : decoded_)
          *c.lane = c.field.decode(get_bits(message, c.field.shift, c.field.num_bits()));
        queue_.pop();
        happen(on_message_, 0);
      }
    }
    return queue_.has_top() || queue_.empty();
  }

  // Takes the rows of an input with this key. False when there may be more of them.
  bool take_rows(input& in, size_t& events) {
    const size_t end_of_key = in.end_of(now_);
    size_t end = end_of_key;
    if (end == in.row) return true;
    current_ = &in;
    const expr::compiled_rule* only = in.rules.code().only_rule();
    if (only != nullptr && !only->holds(in.row)) {
      events -= std::min(events, end - in.row);
      in.row = end;
    } else {
      size_t most = events;
      if (in.rules.code().pushes()) most = std::min(most, queue_.room() / max_pushes_);
      end = std::min(end, in.row + most);
      events -= end - in.row;
      if (only == nullptr) {
        for (; in.row < end; ++in.row) happen(in.rules, in.row);
      } else if (in.rules.code().sends_rows() && in.may_send) {
        queue_.push_few(in.messages.data() + in.row, end - in.row);
        in.row = end;
      } else {
        for (; in.row < end; ++in.row) act(in.rules, *only, in.row);
      }
      if (end < end_of_key) return false;
    }
    return in.row < in.num_rows || in.ended;
  }

  void begin_group(Key key) {
    open_ = true;
    group_ = group_of(key);
    std::copy(state_.initial.begin(), state_.initial.end(), state_.cells.begin());
  }

  void end_group() {
    open_ = false;
    if (at_end_.code().rules().empty()) return;
    for (const decoded_column& c : group_columns_)
      *c.lane = c.field.decode(get_bits(now_, c.field.shift, c.field.num_bits()));
    ending_ = true;
    happen(at_end_, 0);
    ending_ = false;
  }

  void happen(const rule_program& program, size_t row) {
    for (const expr::compiled_rule& rule : program.code().rules())
      if (rule.holds(row)) act(program, rule, row);
  }

  void act(const rule_program& program, const expr::compiled_rule& rule, size_t row) {
    rule.set(row);
    if (rule.pushes) push(program, rule, row);
    if (rule.emits) emit(program, rule, row);
  }

  void push(const rule_program& program, const expr::compiled_rule& rule, size_t row) {
    run(rule.push_steps, row);
    Item message = zero_message_;
    const std::vector<ordered_field>& to = program.targets(rule).pushed;
    for (size_t i = 0; i < to.size(); ++i) put_field(message, to[i], rule.pushed[i].get(row));
    const Key when = key_of(message);
    if (ending_ ? !(group_ < group_of(when)) : !(now_ < when)) [[unlikely]]
      refuse(rule, message);
    queue_.push(message);
  }

  // Where there is a zero so far.
  static void put_field(Item& message, const ordered_field& f, uint64_t lane) {
    flip_bits(message, f.encode(lane) ^ f.zero(), f.shift, f.num_bits());
  }

  static void flip_bits(Item& item, uint64_t bits, unsigned shift, unsigned num_bits) {
    if constexpr (!container::is_wide_item<Item>) {
      item ^= static_cast<Item>(bits) << shift;
    } else {
      Item change{};
      put_bits(change, bits, shift, num_bits);
      for (size_t i = 0; i < std::size(item.words); ++i) item.words[i] ^= change.words[i];
    }
  }

  void emit(const rule_program& program, const expr::compiled_rule& rule, size_t row) {
    run(rule.emit_steps, row);
    const rule_targets& targets = program.targets(rule);
    record::batch_builder& to = builders_[targets.port];
    std::byte* out = to.append();
    for (size_t i = 0; i < targets.emitted.size(); ++i) store(targets.emitted[i], out, rule.emitted[i].get(row));
    if (!to.full()) return;
    out_->emit(to.take(), targets.port);
    emitted_ = true;
  }

  [[noreturn]] void refuse(const expr::compiled_rule& rule, const Item& message) const {
    std::vector<std::pair<std::string, std::pair<record::value_type, uint64_t>>> pushed, now;
    for (size_t i = 0; i < message_fields_.size(); ++i) {
      const ordered_field& f = message_fields_[i];
      pushed.push_back({settings_.message[i].name, {f.type, f.decode(get_bits(message, f.shift, f.num_bits()))}});
    }
    for (size_t i = 0; i < (ending_ ? settings_.num_group : order_fields_.size()); ++i) {
      const ordered_field& f = order_fields_[i];
      now.push_back({settings_.order[i].column, {f.type, f.decode(get_bits(now_, f.shift, f.num_bits()))}});
    }
    const std::string event = ending_ ? "the end of the group"
                              : current_ == nullptr
                                  ? "a message"
                                  : fmt::format("row {} of '{}'", current_->row_number(), current_->name);
    throw error(
        error_kind::bad_data,
        fmt::format("node '{}': rule {} of '{}' pushes {} into the past, at {} with {}", node_, rule.number,
                    ending_ ? "at_end" : "on", text_of(pushed), event, text_of(now)),
        fmt::format("a push must be later than what causes it, in the order {}{}: direct edges from low to high, "
                    "and leave out loops",
                    plan::to_string(settings_.order), ending_ ? ", by the group columns" : ""));
  }

  const std::string node_;
  const pq_scan_settings settings_;
  const std::vector<ordered_field> message_fields_;
  const std::vector<ordered_field> order_fields_;
  const size_t max_pushes_;
  expr::event_state state_;
  rule_program at_end_, on_message_;
  std::vector<std::unique_ptr<input>> inputs_;
  std::vector<decoded_column> decoded_, group_columns_;
  std::vector<record::batch_builder> builders_;
  priority_queue<Item> queue_;

  unsigned order_bits_ = 0, group_bits_ = 0;
  size_t num_message_order_ = 0;  // order columns that messages have
  unsigned item_shift_ = 0;       // of those in an item, above the other columns
  unsigned key_shift_ = 0;        // and in a key
  Key key_end_ = 0;               // of messages: the other order columns
  Item zero_message_{};

  bool open_ = false;
  Key group_ = 0;
  Key now_ = 0;
  const input* current_ = nullptr;  // whose row the event is; null: a message's, or the end of a group
  bool ending_ = false;
  bool emitted_ = false;
  exec::output* out_ = nullptr;
};

}  // namespace

std::unique_ptr<exec::source> make_pq_scan_source(exec::build_context& c, pq_scan_settings s) {
  uint32_t order_bytes = 0;
  for (const plan::order_term& term : s.order) order_bytes += s.event[*s.event.index_of(term.column)].type.num_bytes;
  const uint32_t message_bytes = s.message.row_bytes();
  if (order_bytes <= 8 && message_bytes <= 4)
    return std::make_unique<pq_scan_source<uint64_t, uint32_t>>(c, std::move(s));
  if (order_bytes <= 8 && message_bytes <= 8)
    return std::make_unique<pq_scan_source<uint64_t, uint64_t>>(c, std::move(s));
  if (order_bytes <= 8 && message_bytes <= 16)
    return std::make_unique<pq_scan_source<uint64_t, word128>>(c, std::move(s));
  if (message_bytes <= 16) return std::make_unique<pq_scan_source<word128, word128>>(c, std::move(s));
  if (message_bytes <= 32) return std::make_unique<pq_scan_source<word128, container::item256>>(c, std::move(s));
  return std::make_unique<pq_scan_source<word128, container::item512>>(c, std::move(s));
}

}  // namespace flowrun::operators
