#include "tests/operators/text_operators.h"

#include <algorithm>
#include <optional>
#include <random>
#include <span>

#include "engine/plan/node_checker.h"

namespace flowrun::operators::testing {

namespace {

// When a node is blocked, and who wakes it.
class pauses {
 public:
  pauses(uint64_t seed, const std::string& node, exec::services& job)
      : random_(seed ^ std::hash<std::string>()(node)), job_(job) {}

  // Whether there is one now; then `w` is woken soon.
  bool has_one(waker& w) {
    switch (random_() % 8) {
      case 0: w.wake(); return true;
      case 1: job_.spawn([&w] { w.wake(); }); return true;
      default: return false;
    }
  }
  std::mt19937_64& random() { return random_; }

 private:
  std::mt19937_64 random_;
  exec::services& job_;
};

class text_source final : public exec::source {
 public:
  text_source(std::span<const std::string> text, const record::row_type& type, size_t most_rows, pauses when,
              record::batch_pool& pool)
      : text_(text), type_(type), most_rows_(most_rows), when_(std::move(when)), pool_(pool) {}

  outcome pull(exec::output& out, waker& w) override {
    if (when_.has_one(w)) return outcome::blocked(blocked_on::input);
    if (given_ == read_.num_rows) read_more();
    const size_t count = std::min<size_t>(1 + when_.random()() % most_rows_, read_.num_rows - given_);
    if (count > 0) out.emit(read_.slice(given_, count));
    given_ += count;
    return given_ == read_.num_rows && text_.empty() ? outcome::done() : outcome::ready();
  }

 private:
  // Batches that follow each other are slices of the same one.
  void read_more() {
    const size_t count = std::min(text_.size(), std::clamp<size_t>(most_rows_, 1000, 5000));
    read_ = to_batch(type_, text_.first(count), pool_);
    text_ = text_.subspan(count);
    given_ = 0;
  }

  std::span<const std::string> text_;  // not read yet
  const record::row_type& type_;
  const size_t most_rows_;
  pauses when_;
  record::batch_pool& pool_;
  record::batch read_;
  size_t given_ = 0;
};

class text_sink final : public exec::ordered_stage {
 public:
  text_sink(const record::row_type& type, pauses when, rows& to) : type_(type), when_(std::move(when)), to_(to) {}
  outcome push(record::batch& in, exec::output&, waker& w) override {
    if (when_.has_one(w)) return outcome::blocked(blocked_on::output);
    append_text(type_, in, to_);
    return outcome::ready();
  }

 private:
  const record::row_type& type_;
  pauses when_;
  rows& to_;
};

plan::checked_settings check_source(plan::node_checker& node) {
  const std::optional<record::row_type> type = node.row_type("type");
  if (!type) return {};
  plan::order sorted_by;
  if (node.has("sorted_by"))
    for (const plan::sort_key& k : node.sort_keys("sorted_by", expr::scope{.row = &*type}))
      sorted_by.push_back(k.term.value());
  node.set_output(0, *type, sorted_by);
  return {};
}

plan::operator_declaration source_declaration() {
  plan::operator_declaration d;
  d.name = "test.rows";
  d.role = plan::operator_role::source;
  d.outputs = {{"out", ""}};
  d.parameters = {{.name = "type", .kind = plan::parameter_kind::row_type, .required = true, .help = ""},
                  {.name = "sorted_by", .kind = plan::parameter_kind::sort_keys, .help = ""}};
  d.check = check_source;
  return d;
}

plan::operator_declaration sink_declaration() {
  plan::operator_declaration d;
  d.name = "test.sink";
  d.role = plan::operator_role::sink;
  d.inputs = {{"in", ""}};
  d.check = [](plan::node_checker&) { return plan::checked_settings(); };
  return d;
}

}  // namespace

text_operators::text_operators(std::map<std::string, rows> inputs, uint64_t seed, size_t most_rows)
    : inputs_(std::move(inputs)),
      seed_(seed),
      most_rows_(most_rows),
      source_{source_declaration(), [this](exec::build_context& c) { return build_source(c); }},
      sink_{sink_declaration(), [this](exec::build_context& c) { return build_sink(c); }} {}

exec::assembly text_operators::build_source(exec::build_context& c) {
  exec::assembly out;
  out.head = std::make_unique<text_source>(inputs_.at(c.node.id), c.output_type(), most_rows_,
                                           pauses(seed_, c.node.id, c.job), c.job.pool());
  return out;
}

exec::assembly text_operators::build_sink(exec::build_context& c) {
  exec::assembly out;
  out.stages.emplace_back(
      std::make_unique<text_sink>(c.input_type(), pauses(seed_, c.node.id, c.job), sinks_[c.node.id]));
  return out;
}

}  // namespace flowrun::operators::testing
