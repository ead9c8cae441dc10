#include "plugin/operator_run.h"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "operators/parts/order/ordered_cut.h"
#include "operators/parts/order/sort_stages.h"
#include "operators/parts/rules/program.h"
#include "plugin/codes.h"
#include "plugin/operator_check.h"
#include "plugin/step_output.h"

namespace flowrun::plugins {

namespace {

using node_pointer = std::shared_ptr<running_node>;

// A stage of the plugin. Once it is gone, nobody is woken for it, although work that was spawned may still run.
class plugin_part {
 public:
  explicit plugin_part(node_pointer node) : node_(std::move(node)) {}
  ~plugin_part() { node_->waker->point_to(nullptr); }
  plugin_part(const plugin_part&) = delete;
  plugin_part& operator=(const plugin_part&) = delete;

  running_node& node() const { return *node_; }
  const fr_stage& stage() const { return node_->stage; }
  // A step without input, which may end.
  outcome step(int (*call)(void*, const fr_out*), exec::output& out, waker& w) const {
    step_output running(*node_, out, nullptr, &w);
    const int done = running.run([&](const fr_out* table) { return call(stage().state, table); });
    if (done == FR_DONE) node_->check_rejected();
    return *outcome_of(done);
  }

 private:
  const node_pointer node_;
};

// Of a meeting, `inputs` are the streams that meet. It may end before they do: what is left of them is dropped then,
// since what fills them may fill other streams, too, and would wait for ever.
class plugin_source final : public exec::source {
 public:
  plugin_source(node_pointer node, std::vector<exec::input_stream*> inputs)
      : part_(std::move(node)), inputs_(std::move(inputs)) {}
  outcome pull(exec::output& out, waker& w) override {
    if (!has_ended_) {
      const outcome o = part_.step(part_.stage().pull, out, w);
      if (!o.is_done()) return o;
      has_ended_ = true;
    }
    return drain(w);
  }

 private:
  outcome drain(waker& w) {
    for (exec::input_stream* const in : inputs_) {
      const record::batch* front = nullptr;
      outcome o = in->peek(front, w);
      for (; o.is_ready(); o = in->peek(front, w)) in->pop();
      if (o.is_blocked()) return o;
    }
    return outcome::done();
  }

  plugin_part part_;
  const std::vector<exec::input_stream*> inputs_;
  bool has_ended_ = false;
};

class plugin_stateless final : public exec::stateless_stage {
 public:
  explicit plugin_stateless(node_pointer node) : part_(std::move(node)) {}
  void apply(const record::batch& in, exec::output& out) const override {
    const fr_batch handed = as_batch(in);
    step_output running(part_.node(), out, &in, nullptr);
    running.run([&](const fr_out* table) { return part_.stage().apply(part_.stage().state, &handed, table); });
  }

 private:
  plugin_part part_;
};

class plugin_ordered final : public exec::ordered_stage {
 public:
  explicit plugin_ordered(node_pointer node) : part_(std::move(node)) {}
  outcome push(record::batch& in, exec::output& out, waker& w) override {
    fr_batch handed = as_batch(in);
    step_output running(part_.node(), out, &in, &w);
    const int done =
        running.run([&](const fr_out* table) { return part_.stage().push(part_.stage().state, &handed, table); });
    const outcome o = *outcome_of(done);
    if (o.is_done()) part_.node().refuse("its push says that nothing more comes, which only finish may say");
    if (!o.is_blocked()) return outcome::ready();
    if (handed.num_rows > in.num_rows) part_.node().refuse("it leaves more rows than it was handed");
    in = in.slice(in.num_rows - handed.num_rows, handed.num_rows);
    return o;
  }
  outcome finish(exec::output& out, waker& w) override {
    if (part_.stage().finish != nullptr) return part_.step(part_.stage().finish, out, w);
    part_.node().check_rejected();
    return outcome::done();
  }

 private:
  plugin_part part_;
};

class node_builder {
 public:
  node_builder(exec::build_context& c, const fr_operator& table, const std::string& who)
      : c_(c),
        table_(table),
        who_(who),
        settings_(std::make_shared<plugin_settings>(c.node.settings.as<plugin_settings>())) {
    if (!c.scalars.empty()) settings_->bind(c.scalars);
  }

  exec::assembly build() {
    const bool is_breaker = table_.role == FR_BREAKER;
    if (c_.is_intake() && !is_breaker)
      take_in();
    else if (c_.is_intake())
      make_rows_to_sort();
    else if (is_breaker)
      take_sorted_rows();
    else if (table_.role == FR_SOURCE || table_.role == FR_MEETING)
      head();
    else
      stages();
    return std::move(out_);
  }

 private:
  std::vector<const record::row_type*> outputs() const {
    std::vector<const record::row_type*> out;
    for (const plan::output_port& port : c_.node.outputs) out.push_back(&port.type);
    return out;
  }
  node_pointer made(std::vector<const record::row_type*> outputs) {
    auto node = std::make_shared<running_node>(c_, settings_, std::move(outputs), who_);
    node->build(table_);
    return node;
  }
  [[noreturn]] void refuse(const running_node& node) const {
    node.refuse("what it built lacks the function of its role");
  }
  // What expressions compute, in front of the plugin's own stage.
  void compute() {
    if (settings_->rows.size() <= c_.input_type().num_columns()) return;
    out_.stages.push_back(
        operators::make_program(c_.input_type(), {operators::program_step::map(settings_->rows)}, c_.job.pool()));
  }

  void head() {
    node_pointer node = made(outputs());
    if (node->stage.pull == nullptr) refuse(*node);
    out_.head = std::make_unique<plugin_source>(std::move(node), c_.inputs);
  }
  void stages() {
    compute();
    node_pointer node = made(outputs());
    const bool is_stateless = table_.role == FR_STATELESS;
    if (is_stateless ? node->stage.apply == nullptr : node->stage.push == nullptr) refuse(*node);
    add(std::move(node), is_stateless);
  }
  void add(node_pointer node, bool is_stateless) {
    if (is_stateless)
      out_.stages.emplace_back(std::make_unique<plugin_stateless>(std::move(node)));
    else
      out_.stages.emplace_back(std::make_unique<plugin_ordered>(std::move(node)));
  }

  // An input by a stage of the operator's own.
  void take_in() {
    const node_pointer node = made({});
    if (node->stage.push == nullptr) refuse(*node);
    // The stage must be gone before what it has left.
    c_.states[c_.input] = std::shared_ptr<void>(node->stage.left, [node](void* left) {
      if (left != nullptr && node->stage.destroy_left != nullptr) node->stage.destroy_left(left);
    });
    add(node, false);
  }

  void make_rows_to_sort() {
    compute();
    node_pointer node = made({&settings_->sort->type});
    if (node->stage.apply != nullptr || node->stage.push != nullptr) add(node, node->stage.apply != nullptr);
    operators::add_run_creation(out_, c_, *settings_->sort);
  }
  void take_sorted_rows() {
    const sort::sort_settings& sort = *settings_->sort;
    operators::add_merge(out_, c_, sort);
    const operators::repeats where = sort.unique ? operators::repeats::at_batch_starts : operators::repeats::none;
    if (sort.unique || sort.limit > 0)
      out_.stages.push_back(operators::make_ordered_cut(sort.type, where, sort.key, sort.limit, c_.job.pool()));
    node_pointer node = made(outputs());
    if (node->stage.push != nullptr) return add(std::move(node), false);
    if (sort.type != c_.output_type()) node->refuse("it gives on sorted rows as they are, and its output has others");
  }

  exec::build_context& c_;
  const fr_operator& table_;
  const std::string& who_;
  const std::shared_ptr<plugin_settings> settings_;
  exec::assembly out_;
};

}  // namespace

exec::assembly build_node(exec::build_context& c, const fr_operator& table, const std::string& who) {
  return node_builder(c, table, who).build();
}

}  // namespace flowrun::plugins
