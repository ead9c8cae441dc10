// Operators of plugins in C++20; included by flowrun/plugin.hpp.
//
//   struct settings { uint64_t times; };
//
//   plugin.add(fr::stateless<settings>("repeat")
//                  .summary("Gives each row several times.")
//                  .order("keeps: the input's order")
//                  .example("twice: {op: toy.repeat, in: rows, with: {times: 2}}\n")
//                  .input("in", "the rows")
//                  .output("out", "the rows, each so often")
//                  .parameter({.name = "times", .kind = FR_PARAMETER_INTEGER, .required = true, .help = "How often."})
//                  .check([](fr::node& node) {
//                    node.set_output(0, node.input(), node.input_order());
//                    return settings{node.integer("times")};
//                  })
//                  .apply([](const settings& s, const fr::batch& in, fr::out& out) {
//                    uint64_t done = out.within();  // of the first row, where rows come again
//                    for (size_t i = 0; i < in.size(); ++i, done = 0)
//                      for (; done < s.times; ++done) {
//                        if (out.full()) return out.leave(i, done);
//                        out.pass(in, i, 1);
//                      }
//                  }));
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flowrun/error.hpp"
#include "flowrun/plugin.h"

namespace fr {

struct column {
  std::string name;
  fr_type type{FR_U64, 8};
  uint32_t offset = 0;  // from the start of the row; row_type sets it
};

inline uint32_t width_of(fr_type type) {
  constexpr uint32_t widths[] = {1, 1, 2, 3, 4, 5, 6, 8, 1, 2, 4, 8, 4, 8, 0, 8};
  return type.kind == FR_BYTES ? type.num_bytes : widths[type.kind];
}

// Named, typed columns, packed in their order.
class row_type {
 public:
  row_type() = default;
  explicit row_type(std::vector<column> columns) : columns_(std::move(columns)) {
    for (column& c : columns_) {
      c.offset = row_bytes_;
      row_bytes_ += width_of(c.type);
      has_strings_ = has_strings_ || c.type.kind == FR_STRING;
    }
  }
  const std::vector<column>& columns() const { return columns_; }
  const column& operator[](size_t i) const { return columns_[i]; }
  uint32_t row_bytes() const { return row_bytes_; }
  bool has_strings() const { return has_strings_; }
  // Its place; nullopt: there is no such column.
  std::optional<size_t> find(std::string_view name) const {
    for (size_t i = 0; i < columns_.size(); ++i)
      if (columns_[i].name == name) return i;
    return std::nullopt;
  }

 private:
  std::vector<column> columns_;
  uint32_t row_bytes_ = 0;
  bool has_strings_ = false;
};

// A key by which rows are sorted.
struct order_term {
  std::string column;
  bool descending = false;
  uint32_t from = 0, length = 0;  // of a bytes[N] column; 0: all of it
};
using order = std::vector<order_term>;

// How many rows a stream has.
struct estimate {
  uint64_t rows = 0, num_bytes = 0;
  bool known = false, exact = false;
  uint64_t most_rows = std::numeric_limits<uint64_t>::max(), most_bytes = std::numeric_limits<uint64_t>::max();
};

struct parameter_declaration {
  std::string name;
  uint32_t kind = FR_PARAMETER_TEXT;
  bool required = false;
  std::string default_text = {};  // as it would stand in YAML
  std::string choices = {};       // words, separated by blanks
  std::string help;
};

namespace detail {

inline std::vector<fr_order_term> as_terms(const order& terms) {
  std::vector<fr_order_term> out;
  for (const order_term& t : terms) out.push_back({as_text(t.column), t.descending, t.from, t.length, 0});
  return out;
}

}  // namespace detail

// A node of a job, in check().
class node {
 public:
  explicit node(const fr_node& raw) : raw_(raw) {}

  bool has(std::string_view name) const { return raw_.has(raw_.self, detail::as_text(name)) != 0; }
  std::string text(std::string_view name) const {
    return std::string(detail::as_view(raw_.text(raw_.self, detail::as_text(name))));
  }
  uint64_t integer(std::string_view name) const { return raw_.integer(raw_.self, detail::as_text(name)); }
  uint64_t bytes(std::string_view name) const { return integer(name); }
  bool boolean(std::string_view name) const { return integer(name) != 0; }
  double number(std::string_view name) const { return raw_.number(raw_.self, detail::as_text(name)); }
  // Their places in the input; unknown ones are faults already.
  std::vector<uint32_t> columns(std::string_view name) const {
    std::vector<uint32_t> out(raw_.columns(raw_.self, detail::as_text(name), nullptr, 0));
    raw_.columns(raw_.self, detail::as_text(name), out.data(), out.size());
    return out;
  }

  row_type input() const {
    const fr_row_type* const type = raw_.input_type(raw_.self);
    std::vector<column> out;
    for (size_t i = 0; i < type->num_columns; ++i)
      out.push_back({std::string(detail::as_view(type->columns[i].name)), type->columns[i].type});
    return row_type(std::move(out));
  }
  order input_order() const {
    const fr_order_term* terms = nullptr;
    const size_t count = raw_.input_order(raw_.self, &terms);
    order out;
    for (size_t i = 0; i < count; ++i)
      out.push_back(
          {std::string(detail::as_view(terms[i].column)), terms[i].is_descending != 0, terms[i].from, terms[i].length});
    return out;
  }
  estimate input_estimate() const {
    fr_estimate e{};
    raw_.input_estimate(raw_.self, &e);
    return {e.rows, e.num_bytes, e.is_known != 0, e.is_exact != 0, e.most_rows, e.most_bytes};
  }
  // A fault, which names the sort to add, unless the input is sorted so.
  bool require_order(const order& need) const {
    const std::vector<fr_order_term> terms = detail::as_terms(need);
    return raw_.require_order(raw_.self, terms.data(), terms.size()) != 0;
  }
  // At a parameter, or with an empty name at the node.
  void fault(std::string_view parameter, std::string_view message, std::string_view expected = {},
             std::string_view hint = {}) const {
    raw_.fault(raw_.self, detail::as_text(parameter), detail::as_text(message), detail::as_text(expected),
               detail::as_text(hint));
  }
  bool good() const { return raw_.is_good(raw_.self) != 0; }
  // Once for each output.
  void set_output(uint32_t port, const row_type& type, const order& sorted_by = {}, const estimate& rows = {}) const {
    std::vector<fr_column> columns;
    for (const column& c : type.columns()) columns.push_back({detail::as_text(c.name), c.type, c.offset, 0});
    const std::vector<fr_order_term> terms = detail::as_terms(sorted_by);
    const fr_estimate e{rows.rows, rows.num_bytes, rows.known, rows.exact, rows.most_rows, rows.most_bytes};
    raw_.set_output(raw_.self, port, columns.data(), columns.size(), terms.data(), terms.size(), &e);
  }

 private:
  const fr_node& raw_;
};

// Rows on their way.
class batch {
 public:
  explicit batch(const fr_batch& raw) : raw_(raw) {}
  size_t size() const { return raw_.num_rows; }
  uint64_t first_row() const { return raw_.first_row; }
  const unsigned char* row(size_t i) const { return raw_.rows + i * raw_.row_bytes; }
  // The number of a column with this offset, of a type as wide as T.
  template <class T>
  T get(size_t i, uint32_t offset) const {
    T out;
    std::memcpy(&out, row(i) + offset, sizeof out);
    return out;
  }
  // The string of a column with this offset.
  std::string_view text(size_t i, uint32_t offset) const {
    const auto at = get<fr_string>(i, offset);
    return {reinterpret_cast<const char*>(raw_.heap) + at.offset, at.length};
  }
  const fr_batch& raw() const { return raw_; }

 private:
  const fr_batch& raw_;
};

// Flowrun has noted already why there is no memory, or what is wrong with a batch.
struct noted_failure {};

// What the step may still make, as of the last batch that went out.
class step_room {
 public:
  explicit step_room(const fr_out& raw) : raw_(raw), left_(raw.room(raw.self)) {}
  uint64_t left() const { return left_; }
  // Hands on a batch.
  void emit(uint32_t port, const fr_batch& b) {
    if (raw_.emit(raw_.self, port, &b) != FR_OK) throw noted_failure();
    left_ = raw_.room(raw_.self);
  }

 private:
  const fr_out& raw_;
  uint64_t left_;
};

// Rows for one output, one after the other; they go out by themselves.
class row_writer {
 public:
  row_writer(const fr_out& raw, step_room& room, const row_type& type, uint32_t port)
      : raw_(raw), room_(room), type_(type), port_(port) {}

  // A row whose bytes the caller sets, before the next one: numbers with put(), strings with put_text(). The bytes of a
  // row of the input may be copied, but then its strings are to be put once more: they lie in another heap.
  unsigned char* append() {
    if (num_rows_ == most_rows_ || heap_bytes_ >= heap_target()) flush();
    if (rows_ == nullptr) {
      const size_t share = type_.has_strings() ? raw_.batch_bytes / 2 : raw_.batch_bytes;
      most_rows_ = std::max<size_t>(share / std::max<uint32_t>(type_.row_bytes(), 1), 1);
      rows_ = static_cast<unsigned char*>(take(most_rows_ * std::max<uint32_t>(type_.row_bytes(), 1)));
    }
    unsigned char* const row = rows_ + num_rows_++ * type_.row_bytes();
    if (type_.has_strings()) std::memset(row, 0, type_.row_bytes());  // a string that is not put is empty
    return row;
  }
  template <class T>
  static void put(unsigned char* row, uint32_t offset, T value) {
    std::memcpy(row + offset, &value, sizeof value);
  }
  // Into the row that was appended last.
  void put_text(unsigned char* row, uint32_t offset, std::string_view text) {
    if (heap_bytes_ + text.size() > heap_capacity_) {
      // Twice as much where there is so much: a batch, and one row more.
      const auto most = static_cast<size_t>(raw_.longest_row + raw_.batch_bytes);
      const size_t capacity =
          std::max(heap_bytes_ + text.size(), heap_bytes_ == 0 ? heap_target() : std::min(2 * heap_bytes_, most));
      auto* const larger = static_cast<unsigned char*>(take(capacity));
      if (heap_bytes_ > 0) std::memcpy(larger, heap_, heap_bytes_);
      heap_ = larger;
      heap_capacity_ = capacity;
    }
    if (!text.empty()) std::memcpy(heap_ + heap_bytes_, text.data(), text.size());
    put(row, offset, fr_string{static_cast<uint32_t>(heap_bytes_), static_cast<uint32_t>(text.size())});
    heap_bytes_ += text.size();
  }
  void flush() {
    if (num_rows_ > 0) {
      const fr_batch b{rows_, num_rows_, type_.row_bytes(), 0, heap_, heap_bytes_, 0};
      room_.emit(port_, b);
    }
    rows_ = heap_ = nullptr;
    num_rows_ = heap_bytes_ = heap_capacity_ = 0;
  }
  uint32_t port() const { return port_; }
  // What was written since the last batch went out.
  uint64_t num_bytes() const { return num_rows_ * type_.row_bytes() + heap_bytes_; }

 private:
  size_t heap_target() const { return std::max<size_t>(raw_.batch_bytes / 2, 1); }
  void* take(size_t num_bytes) {
    void* const out = raw_.take(raw_.self, num_bytes);
    if (out == nullptr) throw noted_failure();
    return out;
  }

  const fr_out& raw_;
  step_room& room_;
  const row_type& type_;
  const uint32_t port_;
  unsigned char *rows_ = nullptr, *heap_ = nullptr;
  size_t num_rows_ = 0, most_rows_ = 0, heap_bytes_ = 0, heap_capacity_ = 0;
};

// Where a step leaves what it makes.
class out {
 public:
  explicit out(const fr_out& raw) : raw_(raw), room_(raw) {}
  out(const out&) = delete;
  out& operator=(const out&) = delete;

  // Writes rows of `type`, which outlives the step, to an output. What was written goes out at the end of the step.
  row_writer& rows(const row_type& type, uint32_t port = 0) {
    for (row_writer& w : writers_)
      if (w.port() == port) return w;
    return writers_.emplace_back(raw_, room_, type, port);
  }
  // Hands on rows of the input, [from, from + count), as they are, behind what was written.
  void pass(const batch& in, size_t from, size_t count, uint32_t port = 0) {
    for (row_writer& w : writers_)
      if (w.port() == port) w.flush();
    fr_batch part = in.raw();
    part.rows = in.row(from);
    part.num_rows = count;
    part.first_row += from;
    room_.emit(port, part);
  }
  // No more should be made in this step: leave() the rows that aren't done, and return.
  bool full() const {
    uint64_t written = 0;
    for (const row_writer& w : writers_) written += w.num_bytes();
    return written >= room_.left();
  }
  void leave(size_t row, uint64_t within = 0) { raw_.leave(raw_.self, row, within); }
  uint64_t within() const { return raw_.within; }

  // --- for the loop ---
  void finish() {
    for (row_writer& w : writers_) w.flush();
  }

 private:
  const fr_out& raw_;
  step_room room_;
  std::deque<row_writer> writers_;
};

// A job that runs.
class job {
 public:
  explicit job(const fr_job& raw) : raw_(&raw) {}
  uint64_t memory_bytes() const { return raw_->memory_bytes; }
  uint32_t threads() const { return raw_->num_threads; }
  bool cancelled() const { return raw_->is_cancelled(raw_->self) != 0; }
  void warn(std::string_view text) const { raw_->warn(raw_->self, detail::as_text(text)); }
  void report(std::string_view name, std::string_view value) const {
    raw_->report(raw_->self, detail::as_text(name), detail::as_text(value));
  }

 private:
  const fr_job* raw_;
};

namespace detail {

// What runs for a node, behind fr_stage.
struct running {
  std::shared_ptr<const void> settings;
  std::function<void(const batch&, out&)> apply, push;
  std::function<bool(out&)> pull, finish;  // whether there is more
};

template <class Step>
int carry_out(const fr_out* to, Step step) noexcept {
  try {
    out o(*to);
    const bool more = step(o);
    o.finish();
    return more ? FR_OK : FR_DONE;
  } catch (const noted_failure&) {
    return FR_FAILED;
  } catch (...) {
    report(to->problem);
    return FR_FAILED;
  }
}

// All that an operator declares, whatever its types.
class operator_declaration {
 public:
  explicit operator_declaration(std::string name, uint32_t role) : name_(std::move(name)), role_(role) {}

 protected:
  struct port_text {
    std::string name, help;
  };
  static int check_all(void* context, const fr_node* raw, void** settings, fr_problem* problem) {
    try {
      node n(*raw);
      *settings = new std::shared_ptr<const void>(static_cast<const operator_declaration*>(context)->check_(n));
      return FR_OK;
    } catch (...) {
      report(problem);
      return FR_FAILED;
    }
  }
  static void destroy_settings(void* settings) { delete static_cast<std::shared_ptr<const void>*>(settings); }
  static int build_all(void* context, const void* settings, const fr_job* raw, fr_stage* to, fr_problem* problem) {
    try {
      auto made = std::make_unique<running>();
      made->settings = *static_cast<const std::shared_ptr<const void>*>(settings);
      static_cast<const operator_declaration*>(context)->build_(*made, job(*raw));
      to->apply = made->apply ? apply : nullptr;
      to->push = made->push ? push : nullptr;
      to->pull = made->pull ? pull : nullptr;
      to->finish = made->finish ? finish : nullptr;
      to->destroy = [](void* state) { delete static_cast<running*>(state); };
      to->state = made.release();
      return FR_OK;
    } catch (...) {
      report(problem);
      return FR_FAILED;
    }
  }
  static int apply(const void* state, const fr_batch* in, const fr_out* to) {
    return carry_out(to, [&](out& o) { return static_cast<const running*>(state)->apply(batch(*in), o), true; });
  }
  static int push(void* state, const fr_batch* in, const fr_out* to) {
    return carry_out(to, [&](out& o) { return static_cast<running*>(state)->push(batch(*in), o), true; });
  }
  static int pull(void* state, const fr_out* to) {
    return carry_out(to, [&](out& o) { return static_cast<running*>(state)->pull(o); });
  }
  static int finish(void* state, const fr_out* to) {
    return carry_out(to, [&](out& o) { return static_cast<running*>(state)->finish(o); });
  }

  std::string name_, summary_, details_, order_, example_;
  uint32_t role_;
  bool output_optional_ = false;
  std::deque<port_text> inputs_, outputs_;
  std::deque<parameter_declaration> parameters_;
  std::function<std::shared_ptr<const void>(node&)> check_;
  std::function<void(running&, const job&)> build_;

 private:
  friend class fr::plugin;
  // Refers to this object, which lives as long as the process.
  fr_operator table() {
    const auto ports = [](const std::deque<port_text>& from, std::vector<fr_port>& to) {
      for (const port_text& p : from) to.push_back({as_text(p.name), as_text(p.help), {}});
    };
    ports(inputs_, input_table_);
    ports(outputs_, output_table_);
    for (const parameter_declaration& p : parameters_)
      parameter_table_.push_back(
          {as_text(p.name), p.kind, p.required, as_text(p.default_text), as_text(p.choices), as_text(p.help), {}});
    fr_operator out{};
    out.size = sizeof out;
    out.name = as_text(name_);
    out.summary = as_text(summary_);
    out.details = as_text(details_);
    out.order = as_text(order_);
    out.example = as_text(example_);
    out.role = role_;
    out.has_optional_output = output_optional_;
    out.inputs = input_table_.data();
    out.num_inputs = input_table_.size();
    out.outputs = output_table_.data();
    out.num_outputs = output_table_.size();
    out.parameters = parameter_table_.data();
    out.num_parameters = parameter_table_.size();
    out.context = this;
    out.check = check_ ? check_all : nullptr;
    out.destroy_settings = destroy_settings;
    out.build = build_ ? build_all : nullptr;
    return out;
  }

  std::vector<fr_port> input_table_, output_table_;
  std::vector<fr_parameter> parameter_table_;
};

// The words of a declaration, one behind the other.
template <class Self, class Settings>
class operator_builder : public operator_declaration {
 public:
  using operator_declaration::operator_declaration;
  Self& summary(std::string text) { return summary_ = std::move(text), self(); }  // one sentence
  Self& details(std::string text) { return details_ = std::move(text), self(); }
  Self& order(std::string text) { return order_ = std::move(text), self(); }  // "needs: by; keeps: the input's order"
  Self& example(std::string yaml) { return example_ = std::move(yaml), self(); }
  Self& input(std::string name, std::string help) {
    return inputs_.push_back({std::move(name), std::move(help)}), self();
  }
  Self& output(std::string name, std::string help) {
    return outputs_.push_back({std::move(name), std::move(help)}), self();
  }
  // Its output needs no reader, since it does something by itself.
  Self& output_is_optional() { return output_optional_ = true, self(); }
  Self& parameter(parameter_declaration p) { return parameters_.push_back(std::move(p)), self(); }
  // Reads the parameters and sets the outputs; what it returns is handed to what runs.
  Self& check(std::function<Settings(node&)> read) {
    check_ = [read = std::move(read)](node& n) { return std::make_shared<const Settings>(read(n)); };
    return self();
  }

 protected:
  Self& self() { return static_cast<Self&>(*this); }
  static const Settings& settings_of(const running& r) { return *static_cast<const Settings*>(r.settings.get()); }
};

}  // namespace detail

// An operator without state between batches; it runs on several threads at once.
template <class Settings>
class stateless : public detail::operator_builder<stateless<Settings>, Settings> {
 public:
  explicit stateless(std::string name) : detail::operator_builder<stateless, Settings>(std::move(name), FR_STATELESS) {}
  stateless& apply(std::function<void(const Settings&, const batch&, out&)> step) {
    this->build_ = [step = std::move(step)](detail::running& to, const job&) {
      to.apply = [step, settings = &stateless::settings_of(to)](const batch& in, out& o) { step(*settings, in, o); };
    };
    return *this;
  }
};

// An operator that sees batch after batch, in the order of the stream, with a state of its own. Without outputs, a
// sink.
template <class Settings, class State>
class ordered : public detail::operator_builder<ordered<Settings, State>, Settings> {
 public:
  explicit ordered(std::string name) : detail::operator_builder<ordered, Settings>(std::move(name), FR_ORDERED) {}
  // `start` makes the state for a run; `push` gets a batch; `finish`, if it is given, comes behind the last one, makes
  // about a batch, and says whether there is more.
  ordered& run(std::function<State(const Settings&, const job&)> start,
               std::function<void(State&, const batch&, out&)> push,
               std::function<bool(State&, out&)> finish = nullptr) {
    this->build_ = [=](detail::running& to, const job& j) {
      auto state = std::make_shared<State>(start(ordered::settings_of(to), j));
      to.push = [push, state](const batch& in, out& o) { push(*state, in, o); };
      if (finish) to.finish = [finish, state](out& o) { return finish(*state, o); };
    };
    return *this;
  }
};

// An operator without input.
template <class Settings, class State>
class source : public detail::operator_builder<source<Settings, State>, Settings> {
 public:
  explicit source(std::string name) : detail::operator_builder<source, Settings>(std::move(name), FR_SOURCE) {}
  // `pull` makes about a batch, and says whether there is more.
  source& run(std::function<State(const Settings&, const job&)> start, std::function<bool(State&, out&)> pull) {
    this->build_ = [=](detail::running& to, const job& j) {
      auto state = std::make_shared<State>(start(source::settings_of(to), j));
      to.pull = [pull, state](out& o) { return pull(*state, o); };
    };
    return *this;
  }
};

}  // namespace fr
