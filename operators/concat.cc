// concat: streams one after another. Batches are handed on as they are.
#include "operators/parts/order/sort_order.h"
#include "operators/parts/order/stream_cursor.h"
#include "operators/parts/rules/estimates.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

struct settings {};

settings check(plan::node_checker& node) {
  require_equal_types(node);
  plan::row_estimate estimate = node.input_estimate(0);
  for (size_t i = 1; i < node.num_inputs(); ++i) estimate = sum(estimate, node.input_estimate(i));
  node.set_output(0, node.input_type(0), node.num_inputs() == 1 ? node.input_order(0) : plan::order{}, estimate);
  return {};
}

class concat_source final : public exec::source {
 public:
  explicit concat_source(const std::vector<exec::input_stream*>& inputs) {
    for (exec::input_stream* in : inputs) cursors_.emplace_back(*in, nullptr);
  }

  outcome pull(exec::output& out, waker& w) override {
    while (current_ < cursors_.size()) {
      stream_cursor& in = cursors_[current_];
      const outcome o = in.fill(w);
      if (o.is_blocked()) return o;
      if (o.is_ready()) {
        out.emit(in.rows());
        in.advance(in.rows_left());
        return outcome::ready();
      }
      ++current_;
    }
    return outcome::done();
  }

 private:
  std::vector<stream_cursor> cursors_;
  size_t current_ = 0;
};

exec::assembly build(exec::build_context& c, const settings&) {
  exec::assembly out;
  out.head = std::make_unique<concat_source>(c.inputs);
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"concat">() {
  plan::operator_declaration d;
  d.name = "concat";
  d.summary = "Puts streams one after another.";
  d.details =
      "All rows of the first input, then all of the second, and so on. The inputs have the same columns and types.";
  d.order = "gives: none (use merge to keep a common order)";
  d.example = "all: {op: concat, in: [old, new]}\n";
  d.role = plan::operator_role::meeting;
  d.inputs = {{"in", "any number of streams of one row type"}};
  d.any_number_of_inputs = true;
  d.outputs = {{"out", "the rows of all inputs, in the order of `in`"}};
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
