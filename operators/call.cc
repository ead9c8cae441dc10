// call: runs a graph of `graphs:`, with rows and scalars of its own; the graph may call itself.
//
// A graph is checked once for each set of input types, orders and scalar types (an instance). A call inside of it that
// has the same set finds the instance unfinished: that is recursion, and takes the outputs' types from their
// declaration. At run time each level of a recursion has memory and plans of its own.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "engine/base/calendar.h"
#include "engine/base/error.h"
#include "engine/base/machine.h"
#include "engine/base/units.h"
#include "engine/plan/body_ports.h"
#include "operators/parts/control/control_values.h"
#include "operators/word.h"
#include "specs/parameters.h"
#include "specs/value.h"

namespace flowrun::operators {

namespace {

// What a level of a graph that calls itself may take of the stack before it calls the next one, with all that its
// operators do.
constexpr size_t least_stack_room = 256 * KiB;

using record::type_kind;
using record::value_type;

struct passed_scalar {
  std::string name;
  expr::expression value;
  input_values mentioned;
};

struct settings {
  std::string graph;
  std::vector<std::string> inputs;  // the graph's names of the node's inputs
  std::vector<passed_scalar> scalars;
  std::vector<std::string> results;  // by output: the result's id
  std::optional<input_condition> when;
  uint64_t max_depth = 0;
  bool recursive = false;
  bool rows_decide = false;  // a call differs from the call around it only by its rows
};

bool is_any(const specs::Value& type) {
  return specs::is_null(type) || (specs::is_scalar(type) && (specs::text(type) == "any" || specs::text(type).empty()));
}

class call_checker {
 public:
  explicit call_checker(plan::node_checker& node) : node_(node) {}

  settings run() {
    check();
    return std::move(out_);
  }

 private:
  void check() {
    find_graph();
    if (graph_ == nullptr) return;
    match_inputs();
    match_scalars();
    if (const specs::Value* when = node_.value("when"); when != nullptr && node_.ok())
      out_.when = check_condition_on_inputs(node_, *when);
    out_.max_depth = node_.integer("max_depth");
    if (out_.max_depth == 0) node_.fault_at_parameter("max_depth", "a depth of 0 allows no call", "1 or more");
    for (const specs::GraphPort& port : graph_->outputs()) out_.results.push_back("out " + port.name());
    if (node_.ok()) instantiate();
  }

  void find_graph() {
    out_.graph = node_.text("graph");
    std::vector<std::string> names;
    for (const specs::Graph& g : node_.owner().job->graphs()) {
      names.push_back(g.name());
      if (g.name() == out_.graph) graph_ = &g;
    }
    if (graph_ == nullptr)
      node_.fault_at_parameter("graph", fmt::format("there is no graph '{}'", out_.graph),
                               names.empty() ? "graphs: {name: {in: …, out: …, nodes: …}}" : one_of(names),
                               did_you_mean(out_.graph, names));
  }

  void match_inputs() {
    std::vector<plan::input_port>& given = node_.node().inputs;
    std::vector<std::string> names;
    for (const specs::GraphPort& port : graph_->inputs()) names.push_back(port.name());
    // With one input there is no doubt which one is meant.
    if (given.size() == 1 && names.size() == 1 && node_.node().spec->input_form() != specs::INPUT_NAMED)
      given[0].name = names[0];
    for (size_t i = 0; i < given.size(); ++i)
      if (std::find(names.begin(), names.end(), given[i].name) == names.end())
        node_.fault_at_input(i, fmt::format("the graph '{}' has no input '{}'", out_.graph, given[i].name),
                             names.empty() ? "no in:" : one_of(names), did_you_mean(given[i].name, names));
    for (const specs::GraphPort& port : graph_->inputs()) {
      const auto it =
          std::find_if(given.begin(), given.end(), [&](const plan::input_port& in) { return in.name == port.name(); });
      if (it == given.end()) {
        node_.fault_at_node(fmt::format("the input '{}' of the graph '{}' is missing", port.name(), out_.graph),
                            fmt::format("in: {{{}: node}}", port.name()));
        continue;
      }
      const auto i = static_cast<size_t>(it - given.begin());
      if (is_any(port.type())) continue;
      const auto type = node_.row_type_of(port.type());
      if (type && *type != node_.input_type(i))
        node_.fault_at_input(i,
                             fmt::format("'{}' is {}, and the input '{}' of the graph '{}' {}", node_.input_name(i),
                                         to_string(node_.input_type(i)), port.name(), out_.graph, to_string(*type)),
                             to_string(*type), "make it so with a map");
    }
    for (const plan::input_port& in : given) out_.inputs.push_back(in.name);
  }

  // A date stands there as one: 2026-11-23, which as an expression would be a difference of numbers.
  static specs::Value as_expression(const specs::Value& given, specs::ParamType type) {
    specs::Value out = given;
    int64_t time = 0;
    if (!specs::is_scalar(given)) return out;
    const std::string& text = specs::text(given);
    const bool is_time = type == specs::PARAM_DATE        ? calendar::parse_date(text, time)
                         : type == specs::PARAM_TIMESTAMP ? calendar::parse_timestamp(text, time)
                                                          : false;
    if (is_time) out.mutable_scalar()->set_text(fmt::format("to_{}('{}')", specs::param_type_name(type), text));
    return out;
  }

  void match_scalars() {
    std::vector<std::string> names;
    for (const specs::Param& p : graph_->scalars()) names.push_back(p.name());
    for (const specs::Entry& entry : node_.node().spec->with().map().entries()) {
      if (entry.key() == "graph" || entry.key() == "when" || entry.key() == "max_depth") continue;
      if (std::find(names.begin(), names.end(), entry.key()) == names.end())
        node_.fault_at(entry.key_position(), fmt::format("the graph '{}' has no scalar '{}'", out_.graph, entry.key()),
                       names.empty() ? "graph, when, max_depth" : one_of(names), did_you_mean(entry.key(), names));
    }
    const auto& parameters = node_.node().declaration->parameters;
    for (const specs::Param& p : graph_->scalars()) {
      if (std::any_of(parameters.begin(), parameters.end(), [&](const auto& own) { return own.name == p.name(); })) {
        node_.fault_at(p.position(),
                       fmt::format("a call has a '{}' of its own, so no call can give this scalar", p.name()),
                       "another name");
        continue;
      }
      if (expr::is_reserved_word(p.name()))
        node_.fault_at(p.position(), fmt::format("'{}' can't name a scalar: expressions use the word", p.name()),
                       "another name");
      const specs::Value* given = specs::find(node_.node().spec->with(), p.name());
      if (given == nullptr && p.has_default_value()) given = &p.default_value();
      if (given == nullptr) {
        node_.fault_at_node(fmt::format("the scalar '{}' of the graph '{}' is missing", p.name(), out_.graph),
                            fmt::format("with: {{{}: value}}", p.name()));
        continue;
      }
      const specs::Value spelled = as_expression(*given, p.type());
      input_values mentioned(node_, spelled);
      if (!node_.ok()) return;
      if (auto value = check_scalar(node_, spelled, mentioned.names()))
        add_scalar(p, *given, *std::move(value), std::move(mentioned));
    }
  }

  void add_scalar(const specs::Param& p, const specs::Value& given, expr::expression value, input_values mentioned) {
    const value_type type = value.type();
    const bool whole = type.is_integer();
    bool right = false;
    switch (p.type()) {
      case specs::PARAM_BOOL: right = type.is_boolean(); break;
      case specs::PARAM_INT: right = whole; break;
      case specs::PARAM_FLOAT:
        right = type.is_number();
        if (right) value = value.converted_to(value_type::of(type_kind::f64)).value();
        break;
      case specs::PARAM_DATE: right = type.is_date(); break;
      case specs::PARAM_TIMESTAMP: right = type.is_timestamp(); break;
      default: break;
    }
    if (!right)
      node_.fault_at(given.position(), fmt::format("this is no value for the scalar '{}'", p.name()),
                     p.type() == specs::PARAM_BOOL        ? "a condition"
                     : p.type() == specs::PARAM_INT       ? "a whole number"
                     : p.type() == specs::PARAM_FLOAT     ? "a number"
                     : p.type() == specs::PARAM_DATE      ? "a date, as of to_date"
                     : p.type() == specs::PARAM_TIMESTAMP ? "a timestamp, as of to_timestamp"
                                                          : "a scalar of type int, float, bool, date or timestamp");
    out_.scalars.push_back({p.name(), std::move(value), std::move(mentioned)});
  }

  std::string key() const {
    std::string out = out_.graph;
    for (const specs::GraphPort& port : graph_->inputs())
      for (size_t i = 0; i < out_.inputs.size(); ++i)
        if (out_.inputs[i] == port.name())
          out += fmt::format("; {}: {} by {}", port.name(), to_string(node_.input_type(i)),
                             plan::to_string(node_.input_order(i)));
    for (const passed_scalar& s : out_.scalars)
      out += fmt::format("; {}: {}", s.name, record::to_string(s.value.type()));
    return out;
  }

  void instantiate() {
    auto& instances = node_.graphs().instances();
    const std::string name = key();
    const auto found = instances.find(name);
    if (found != instances.end() && found->second.is_faulty) return node_.count_faults(0);
    if (found != instances.end() && !found->second.finished) return recur(found->second);
    if (found == instances.end()) {
      plan::graph_instance& instance = instances[name];
      instance.body = std::make_shared<plan::graph>();
      for (const specs::GraphPort& port : graph_->outputs())
        instance.declared.push_back(is_any(port.type()) ? record::row_type()
                                                        : node_.row_type_of(port.type()).value_or(record::row_type()));
      const size_t before = node_.faults().size();
      node_.graphs().check(request(), *instance.body, node_.faults());
      node_.count_faults(before);
      instance.is_faulty = !node_.ok();
      if (instance.is_faulty) return;
      instance.finished = true;
    }
    const plan::graph_instance& instance = instances.at(name);
    node_.node().bodies = {instance.body};
    do {
      node_.facts().seeks = std::any_of(out_.inputs.begin(), out_.inputs.end(), [&](const std::string& input) {
        return plan::is_sought(*instance.body, input);
      });
    } while (node_.facts().seeks && pass_on_seeks(*instance.body, instance.body.get()));
    node_.facts().bodies_run = !out_.when;
    for (int i = 0; i < graph_->outputs_size(); ++i) {
      const auto port = static_cast<size_t>(i);
      const plan::output_port& given = instance.body->input_of(*instance.body->find(out_.results[port]), 0);
      const record::row_type& declared = instance.declared[port];
      if (declared.num_columns() > 0 && declared != given.type)
        node_.fault_at(graph_->outputs(i).position(),
                       fmt::format("the output '{}' of '{}' is {}, not {}", graph_->outputs(i).name(), out_.graph,
                                   to_string(given.type), to_string(declared)),
                       to_string(declared), "make it so with a map");
      node_.set_output(node_.add_output(graph_->outputs(i).name()), given.type, given.sorted_by);
    }
  }

  // What is sought in from outside is so in each call of itself: only now that all of the graph was checked it is
  // known. Also of the nodes around such calls. True: some of them have learned it.
  static bool pass_on_seeks(plan::graph& g, const plan::graph* called) {
    bool changed = false;
    for (plan::node& n : g.nodes) {
      if (!leads_to(n, called)) continue;
      changed = changed || !n.facts.seeks;
      n.facts.seeks = true;
      for (const auto& body : n.bodies) changed = pass_on_seeks(*body, called) || changed;
    }
    return changed;
  }
  static bool leads_to(const plan::node& n, const plan::graph* called) {
    return n.recursion.lock().get() == called || std::any_of(n.bodies.begin(), n.bodies.end(), [&](const auto& body) {
             return std::any_of(body->nodes.begin(), body->nodes.end(),
                                [&](const plan::node& inner) { return leads_to(inner, called); });
           });
  }

  void recur(const plan::graph_instance& instance) {
    node_.node().recursion = instance.body;
    out_.recursive = true;
    out_.rows_decide = out_.scalars.empty() && !may_name_call_depth(*graph_);
    for (int i = 0; i < graph_->outputs_size(); ++i) {
      const record::row_type& declared = instance.declared[static_cast<size_t>(i)];
      if (declared.num_columns() == 0)
        node_.fault_at(graph_->outputs(i).position(),
                       fmt::format("'{}' calls itself: which columns does its output '{}' have?", out_.graph,
                                   graph_->outputs(i).name()),
                       "a row type: out: {name: {from: node, type: {column: type}}}");
      else
        node_.set_output(node_.add_output(graph_->outputs(i).name()), declared);
    }
  }

  plan::body_request request() const {
    plan::body_request out;
    const std::string& outer = node_.owner().path;
    out.path = (outer.empty() ? "" : outer + ".") + node_.node().id;
    out.nodes = &graph_->nodes();
    for (size_t i = 0; i < out_.inputs.size(); ++i)
      out.inputs.push_back({out_.inputs[i], node_.input_type(i), node_.input_order(i), node_.input_estimate(i)});
    for (const passed_scalar& s : out_.scalars) out.scalars.push_back({s.name, s.value.type(), 0});
    out.scalars.push_back({call_depth_name, value_type::of(type_kind::u64), 0});
    for (int i = 0; i < graph_->outputs_size(); ++i) {
      const specs::GraphPort& port = graph_->outputs(i);
      out.outputs.push_back(
          {out_.results[static_cast<size_t>(i)], port.from_node(), port.from_port(), port.from_position(), false});
    }
    return out;
  }

  plan::node_checker& node_;
  settings out_;
  const specs::Graph* graph_ = nullptr;
};

std::vector<uint64_t> rows_by_stream(const exec::body_streams& streams) {
  std::vector<uint64_t> out;
  for (const auto& [name, rows] : streams.in) out.push_back(rows->num_rows());
  return out;
}

uint64_t total(const std::vector<uint64_t>& num_rows) {
  return std::accumulate(num_rows.begin(), num_rows.end(), uint64_t{0});
}

// The calls of the graph that are around this one and, as long as this lives, this one.
class call_at_work {
 public:
  explicit call_at_work(exec::control_context& context, const settings& s, const exec::body_streams& streams)
      : context_(context), settings_(s), calls_(*context.calls) {
    calls_.levels.push_back({rows_by_stream(streams), context.body_bytes});
  }
  ~call_at_work() { calls_.levels.pop_back(); }
  call_at_work(const call_at_work&) = delete;
  call_at_work& operator=(const call_at_work&) = delete;

  uint64_t depth() const { return calls_.levels.size() - 1; }

  void check_progress() const {
    const uint64_t num_rows = total(calls_.levels.back().num_rows);
    const std::string hint =
        fmt::format("its input must become smaller with each call; look at `when` of '{}'", context_.node.id);
    if (depth() >= settings_.max_depth)
      throw error(error_kind::bad_data,
                  fmt::format("'{}' calls itself {} deep and has still {} rows to work on ({})", settings_.graph,
                              depth(), num_rows, last_levels()),
                  hint + ", or raise max_depth");
    if (stack_room() < least_stack_room)
      throw error(error_kind::resources,
                  fmt::format("'{}' calls itself {} deep and has still {} rows to work on ({}): the stack has no room "
                              "for more",
                              settings_.graph, depth(), num_rows, last_levels()),
                  hint + ", or raise the stack's limit (ulimit -s)");
    // Doubling gets along with as many levels as its rows have bits, and a condition may take two to see the end.
    const size_t enough = static_cast<size_t>(std::bit_width(num_rows)) + 2;
    if (settings_.rows_decide && num_levels_alike() > enough)
      throw error(error_kind::bad_data,
                  fmt::format("'{}' calls '{}' again and again with as many rows ({})", context_.node.id,
                              settings_.graph, last_levels()),
                  hint);
  }

  // The deepest one of all is what the report has.
  void report() const {
    if (!settings_.recursive || calls_.levels.size() <= calls_.most_levels) return;
    calls_.most_levels = calls_.levels.size();
    context_.report_value("depth",
                          fmt::format("{}, {} of memory left there", depth(), format_bytes(context_.body_bytes)));
  }

 private:
  size_t num_levels_alike() const {
    const auto& all = calls_.levels;
    return static_cast<size_t>(
        std::find_if(all.rbegin(), all.rend(), [&](const auto& l) { return l.num_rows != all.back().num_rows; }) -
        all.rbegin());
  }

  std::string last_levels() const {
    constexpr size_t most = 6;
    const size_t from = calls_.levels.size() - std::min(calls_.levels.size(), most);
    std::vector<uint64_t> rows;
    for (size_t i = from; i < calls_.levels.size(); ++i) rows.push_back(total(calls_.levels[i].num_rows));
    return fmt::format("rows by level: {}{}", from > 0 ? "…, " : "", fmt::join(rows, ", "));
  }

  exec::control_context& context_;
  const settings& settings_;
  exec::call_stack& calls_;
};

settings check(plan::node_checker& node) { return call_checker(node).run(); }

void run(exec::control_context& context, const settings& s) {
  exec::body_streams streams;
  for (size_t i = 0; i < s.inputs.size(); ++i) streams.in[s.inputs[i]] = std::move(context.inputs[i]);
  streams.in_is_used_up = true;
  const bool runs = !s.when || s.when->holds(context, streams);
  if (runs) {
    const call_at_work call(context, s, streams);
    call.check_progress();
    call.report();
    const uint64_t depth = call.depth();
    context.note(depth == 0 ? s.graph : fmt::format("{}, {} deep", s.graph, depth));
    std::vector<uint64_t> values;
    for (const passed_scalar& p : s.scalars) values.push_back(value_of(p.value, p.mentioned.values(context, streams)));
    values.push_back(depth);
    context.run_body(0, streams, values);
  }
  for (size_t i = 0; i < s.results.size(); ++i)
    if (context.is_read(i))
      context.outputs[i] = runs ? streams.out.at(s.results[i]) : empty_rows(context, context.node.outputs[i].type);
}

}  // namespace

template <>
exec::operator_definition word<"call">() {
  using plan::parameter_kind;
  plan::operator_declaration d;
  d.name = "call";
  d.summary = "Runs a graph that stands under `graphs:`.";
  d.details =
      "The inputs have the names of the graph's inputs; its outputs are the outputs. Further keys under `with` are the "
      "graph's scalars: expressions over the scalars that are known here, the inputs as a whole (rows(INPUT), or "
      "INPUT.column, a number or bool of an input that has one row) and `memory`, the bytes that the graph's nodes "
      "have together. A graph is checked for the row types that each call gives it. `when` is a condition over the "
      "same names; where it doesn't hold, nothing runs and the outputs are empty.\n\n"
      "A graph may call itself, if the types of its outputs are declared. Such a call needs an end: a `when`, or an "
      "`if` around it. A job whose calls never end stops with an error: when more than `max_depth` calls are inside of "
      "each other, or when many calls in a row have got the same number of rows, which then don't become fewer. For a "
      "thousand rows, many means more than 12, for a million more than 22. If the graph has scalars or its conditions "
      "use `call_depth`, only `max_depth` counts.\n\n"
      "`call_depth` is how deep a graph is in calls of itself, from 0. The report has the greatest depth, and the "
      "memory that was left there.";
  d.order = "needs: nothing; gives: what holds for the graph's outputs";
  d.example = "suffixes: {op: call, in: {text: names}, with: {graph: dc3}}\n";
  d.role = plan::operator_role::control;
  d.reports = true;
  d.inputs = {{"in", "the graph's inputs", true, true}};
  d.inputs_by_name = true;
  d.outputs_from_parameters = true;
  d.free_columns = true;
  d.parameters = {{.name = "graph", .kind = parameter_kind::text, .required = true, .help = "Which graph."},
                  {.name = "when", .kind = parameter_kind::condition, .help = "It runs only if this holds."},
                  {.name = "max_depth",
                   .kind = parameter_kind::integer,
                   .default_text = "64",
                   .help = "More calls of the graph inside of each other are an error."}};
  return exec::define_control<settings>(std::move(d), check, run);
}

}  // namespace flowrun::operators
