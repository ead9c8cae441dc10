// exchange.ends: passes sorted rows on to a sink, and tells with which keys they begin and end.
#include "cluster/exchange_words.h"
#include "cluster/manifest_key.h"
#include "operators/parts/order/row_order.h"
#include "operators/parts/order/sort_order.h"

namespace flowrun::cluster {

namespace {

struct settings {
  plan::order sorted;
  std::string sink;
};

settings check(plan::node_checker& node) {
  settings s{operators::order_parameter(node, "sorted"), node.text("sink")};
  node.set_output(0, node.input_type(), node.input_order(), node.input_estimate());
  return s;
}

class ends_stage final : public exec::ordered_stage {
 public:
  ends_stage(exec::build_context& c, const settings& s)
      : type_(c.input_type()), key_(operators::key_of(type_, s.sorted)), sink_(s.sink), job_(c.job) {}

  outcome push(record::batch& in, exec::output& out, waker&) override {
    if (in.num_rows > 0) {
      if (last_.num_rows == 0) first_ = key_of(in.slice(0, 1));
      last_ = in.slice(in.num_rows - 1, 1);
    }
    out.emit(std::move(in));
    return outcome::ready();
  }

  outcome finish(exec::output&, waker&) override {
    if (last_.num_rows == 0) return outcome::done();
    job_.report_value(sink_, first_key, first_);
    job_.report_value(sink_, last_key, key_of(last_));
    return outcome::done();
  }

 private:
  std::string key_of(const record::batch& row) const { return key_as_json(type_, key_, row.row(0), row.heap); }

  const record::row_type& type_;
  const record::key key_;
  const std::string sink_;
  exec::services& job_;
  std::string first_;
  record::batch last_;
};

exec::assembly build(exec::build_context& c, const settings& s) {
  exec::assembly out;
  out.stages.push_back(std::make_unique<ends_stage>(c, s));
  return out;
}

}  // namespace

const exec::operator_definition& exchange_ends() {
  static const exec::operator_definition word = [] {
    using plan::parameter_kind;
    plan::operator_declaration d;
    d.name = "exchange.ends";
    d.summary = "Tells the first and the last key of what a sink of a job on a cluster writes.";
    d.role = plan::operator_role::ordered;
    d.reports = true;
    d.inputs = {{"in", "sorted rows"}};
    d.outputs = {{"out", "the same rows"}};
    d.parameters = {{.name = "sorted", .kind = parameter_kind::sort_keys, .required = true, .help = "By these keys."},
                    {.name = "sink", .kind = parameter_kind::text, .required = true, .help = "The node behind it."}};
    return exec::define<settings>(std::move(d), check, build);
  }();
  return word;
}

}  // namespace flowrun::cluster
