// if: runs one of two bodies, and passes on what it gives.
#include <fmt/format.h>

#include <algorithm>

#include "engine/plan/body_ports.h"
#include "operators/parts/control/control_values.h"
#include "operators/word.h"
#include "specs/value.h"

namespace flowrun::operators {

namespace {

constexpr const char* branch_names[] = {"then", "else"};

struct chosen_rows {
  std::string port;
  std::string stream;  // an input that is passed on; or
  std::string result;  // by id, in both bodies
  record::row_type type;
};

struct settings {
  std::vector<chosen_rows> outputs;
  input_condition condition;
  int body_of[2] = {-1, -1};  // then, else: index into the node's bodies
};

class if_checker {
 public:
  explicit if_checker(plan::node_checker& node) : node_(node) {}

  settings run() {
    check();
    return std::move(out_);
  }

 private:
  void check() {
    for (const plan::input_port& in : node_.node().inputs) inputs_.push_back(in.name);
    check_condition();
    read_outputs();
    if (!node_.ok()) return;
    for (size_t i = 0; i < 2; ++i)
      if (const specs::Body* body = node_.body(branch_names[i])) check_branch(i, *body);
    if (!node_.ok()) return;
    bool seeks = false;
    for (const auto& body : node_.node().bodies)
      for (const std::string& name : inputs_) seeks = seeks || plan::is_sought(*body, name);
    node_.facts().seeks = seeks;
    for (chosen_rows& o : out_.outputs) set_output(o);
  }

  void check_condition() { out_.condition = check_condition_on_inputs(node_, *node_.value("condition")); }

  size_t index_of(const std::string& input) const {
    return static_cast<size_t>(std::find(inputs_.begin(), inputs_.end(), input) - inputs_.begin());
  }

  void read_outputs() {
    const specs::Value* outputs = node_.value("out");
    for (const specs::Entry& entry : outputs->map().entries()) {
      chosen_rows& o = out_.outputs.emplace_back();
      o.port = entry.key();
      const std::string& from = specs::text(entry.value());
      if (index_of(from) < inputs_.size()) {
        o.stream = from;
        continue;
      }
      o.result = "out " + entry.key();
      const plan::endpoint_name end = plan::split_endpoint(from);
      results_.push_back({o.result, end.node, end.port, entry.value().position(), false});
    }
    if (out_.outputs.empty()) node_.fault_at(outputs->position(), "nothing comes out", "out: {name: node}");
  }

  void check_branch(size_t which, const specs::Body& body) {
    plan::body_request request;
    const std::string& outer = node_.owner().path;
    request.path = (outer.empty() ? "" : outer + ".") + node_.node().id + "." + branch_names[which];
    request.nodes = &body.nodes();
    for (size_t i = 0; i < inputs_.size(); ++i)
      request.inputs.push_back({inputs_[i], node_.input_type(i), node_.input_order(i), node_.input_estimate(i)});
    request.scalars = node_.owner().scalars;
    request.outputs = results_;
    auto checked = std::make_shared<plan::graph>();
    const size_t before = node_.faults().size();
    node_.graphs().check(request, *checked, node_.faults());
    node_.count_faults(before);
    out_.body_of[which] = static_cast<int>(node_.node().bodies.size());
    node_.node().bodies.push_back(std::move(checked));
  }

  void set_output(chosen_rows& o) {
    const size_t port = node_.add_output(o.port);
    if (!o.stream.empty()) {
      const size_t input = index_of(o.stream);
      o.type = node_.input_type(input);
      return node_.set_output(port, o.type, node_.input_order(input), node_.input_estimate(input));
    }
    plan::order order;
    for (const auto& body : node_.node().bodies) {
      const plan::output_port& given = body->input_of(*body->find(o.result), 0);
      if (body == node_.node().bodies.front()) {
        o.type = given.type;
        order = given.sorted_by;
      } else if (given.type != o.type) {
        node_.fault_at_parameter(
            "out." + o.port,
            fmt::format("'{}' is {} in `then` and {} in `else`", o.port, to_string(o.type), to_string(given.type)),
            "the same columns, in the same order");
      } else {
        order = weakened(order, given.sorted_by);
      }
    }
    node_.set_output(port, o.type, order);
  }

  plan::node_checker& node_;
  settings out_;
  std::vector<std::string> inputs_;
  std::vector<plan::body_output> results_;
};

settings check(plan::node_checker& node) { return if_checker(node).run(); }

void run(exec::control_context& context, const settings& s) {
  exec::body_streams streams;
  for (size_t i = 0; i < context.inputs.size(); ++i)
    streams.in[context.node.inputs[i].name] = std::move(context.inputs[i]);
  streams.in_is_used_up =
      std::all_of(s.outputs.begin(), s.outputs.end(), [](const chosen_rows& o) { return o.stream.empty(); });
  const bool holds = s.condition.holds(context, streams);
  const int body = s.body_of[holds ? 0 : 1];
  context.note(branch_names[holds ? 0 : 1]);
  if (body >= 0) context.run_body(static_cast<size_t>(body), streams, values_of(context.scalars()));
  for (size_t i = 0; i < s.outputs.size(); ++i) {
    const chosen_rows& o = s.outputs[i];
    if (!context.is_read(i)) continue;
    if (!o.stream.empty())
      context.outputs[i] = streams.in.at(o.stream);
    else if (body >= 0)
      context.outputs[i] = streams.out.at(o.result);
    else
      context.outputs[i] = empty_rows(context, o.type);
  }
}

}  // namespace

template <>
exec::operator_definition word<"if">() {
  using plan::parameter_kind;
  plan::operator_declaration d;
  d.name = "if";
  d.summary = "Runs one of two groups of nodes, as a condition says.";
  d.details =
      "The condition is over scalars (of a loop or graph around it) and over the inputs as a whole: rows(INPUT) is the "
      "number of its rows, INPUT.column a number or bool of an input that has one row (a reduce), and `memory` the "
      "bytes of memory that the nodes inside have together. The nodes of `then` and `else` read the inputs by their "
      "names. `out` names the outputs, and for each the node that gives it, which must be in both with the same "
      "columns, or one of the inputs. Without `else` what a node gives is empty then.";
  d.order = "needs: nothing; gives: what holds in both branches";
  d.example =
      "shorter:\n"
      "  op: if\n"
      "  in: {names: names}\n"
      "  with:\n"
      "    condition: \"rows(names) > 1000\"\n"
      "    then: {some: {op: filter, in: names, with: {where: \"rank < 1000\"}}}\n"
      "    else: {some: {op: filter, in: names, with: {where: \"true\"}}}\n"
      "    out: {out: some}\n";
  d.role = plan::operator_role::control;
  d.inputs = {{"in", "rows that the nodes inside read by the name they have here", true, true}};
  d.inputs_by_name = true;
  d.outputs_from_parameters = true;
  d.parameters = {
      {.name = "condition", .kind = parameter_kind::condition, .required = true, .help = "Which of the two runs."},
      {.name = "then", .kind = parameter_kind::nodes, .required = true, .help = "Runs if the condition holds."},
      {.name = "else", .kind = parameter_kind::nodes, .help = "Runs if it does not."},
      {.name = "out",
       .kind = parameter_kind::texts_by_name,
       .required = true,
       .help = "The outputs: {output: node of both}."}};
  return exec::define_control<settings>(std::move(d), check, run);
}

}  // namespace flowrun::operators
