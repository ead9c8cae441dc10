#include "operators/parts/rules/pq_scan_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/base/fault.h"
#include "engine/expr/conversion.h"
#include "engine/expr/node.h"
#include "engine/expr/outside_call.h"
#include "operators/parts/order/sort_order.h"

namespace flowrun::operators {

namespace {

using rule = pq_scan_settings::rule;

constexpr size_t most_pushes = 32;  // rules that push

bool is_numeric(record::value_type type) { return !type.is_text(); }

template <class Holds>
bool any_node(const expr::node& n, Holds holds) {
  return holds(n) || std::any_of(n.args.begin(), n.args.end(), [&](const auto& arg) { return any_node(*arg, holds); });
}

// Why rules can't compute the value, one event at a time; empty: they can.
std::string unsuited(const expr::node& root) {
  if (any_node(root, [](const expr::node& n) { return n.type.is_text(); })) return "has to do with text";
  if (any_node(root, [](const expr::node& n) { return n.call != nullptr && n.call->function == nullptr; }))
    return "looks for a number in a long list";
  if (any_node(root, [](const expr::node& n) { return n.call != nullptr; })) return "calls a plugin's function";
  return {};
}

std::string place(const std::string& list, size_t number, const std::string& part) {
  return fmt::format("{}.{}.{}", list, number, part);
}

// The columns of numbers of all inputs, each once.
void read_events(plan::node_checker& node, std::vector<record::column>& columns) {
  std::map<std::string, size_t> seen;
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (node.node().inputs[i].name == pq_scan_settings::messages)
      node.fault_at_input(i, fmt::format("an input can't be named '{}'", pq_scan_settings::messages), "another name",
                          "rules mean the messages by it");
    for (const record::column& c : node.input_type(i).columns()) {
      if (!is_numeric(c.type)) continue;
      const auto [it, is_new] = seen.emplace(c.name, columns.size());
      if (is_new)
        columns.push_back(c);
      else if (columns[it->second].type != c.type)
        node.fault_at_input(i,
                            fmt::format("the column '{}' of '{}' is {}, and {} in an input before it", c.name,
                                        node.input_name(i), to_string(c.type), to_string(columns[it->second].type)),
                            "one type for a column in all inputs", "cast or rename it with a map");
    }
  }
}

void read_state(plan::node_checker& node, pq_scan_settings& s) {
  if (!node.has("state")) return;
  for (auto& [name, value] : node.named_expressions("state", expr::scope{})) {
    if (!value.is_constant())
      node.fault_at_parameter("state." + name, fmt::format("'{}' is not a constant", value.text()),
                              "a value such as 0 or u32(1)");
    else if (!is_numeric(value.type()))
      node.fault_at_parameter("state." + name, fmt::format("'{}' is {}", value.text(), to_string(value.type())),
                              "a number or a boolean");
    s.state.push_back({name, value.type()});
    s.initial.push_back(std::move(value));
  }
}

// The columns that pushes name, as far as they matter: without those that are the constant 0 in every push.
std::set<std::string> pushed_columns(const pq_scan_settings& s) {
  std::set<std::string> out;
  for (const std::vector<rule>* list : {&s.on, &s.at_end})
    for (const rule& r : *list)
      for (const auto& [name, value] : r.push)
        if (value.constant_bits() != uint64_t{0}) out.insert(name);
  return out;
}

// The layout of messages, from the declared or the pushed columns.
void read_message(plan::node_checker& node, pq_scan_settings& s, const std::vector<record::column>& declared) {
  std::set<std::string> wanted = pushed_columns(s);
  if (!declared.empty()) {
    wanted.clear();
    for (const record::column& c : declared) wanted.insert(c.name);
  }
  size_t num_order = s.order.size();
  while (num_order > 1 && !wanted.contains(s.order[num_order - 1].column)) --num_order;
  std::vector<record::column> columns;
  std::set<std::string> taken;
  for (size_t i = 0; i < s.order.size(); ++i) {
    taken.insert(s.order[i].column);
    if (i < num_order) columns.push_back(s.event[*s.event.index_of(s.order[i].column)]);
  }
  const auto add = [&](const record::column& c) {
    if (wanted.contains(c.name) && taken.insert(c.name).second) columns.push_back(c);
  };
  for (const record::column& c : declared) add(c);
  for (const record::column& c : s.event.columns()) add(c);
  s.message = record::row_type(std::move(columns));
  if (s.message.row_bytes() > pq_scan_settings::most_message_bytes)
    node.fault_at_node(fmt::format("a message would have {} bytes: {}", s.message.row_bytes(), to_string(s.message)),
                       fmt::format("{} bytes at most", pq_scan_settings::most_message_bytes));
}

class rule_checker {
 public:
  rule_checker(plan::node_checker& node, pq_scan_settings& s) : node_(node), s_(s) {}

  void check(const std::string& list, std::vector<rule>& rules) {
    for (size_t i = 0; i < rules.size(); ++i) {
      rule& r = rules[i];
      if (r.set.empty() && r.push.empty() && r.emit.empty())
        node_.fault_at_parameter(fmt::format("{}.{}", list, i), "the rule does nothing", "set, push or emit");
      if (r.from) check_from(list, i, *r.from);
      if (r.to && r.emit.empty())
        node_.fault_at_parameter(place(list, i, "to"), "the rule emits nothing", "emit: {column: expression}");
      if (r.when) suits(place(list, i, "when"), *r.when);
      for (auto& [name, value] : r.set) convert(list, i, "set", name, value);
      for (auto& [name, value] : r.push) convert(list, i, "push", name, value);
      for (auto& [name, value] : r.emit) suits(place(list, i, "emit." + name), value);
      if (!r.push.empty() && list == "at_end" && s_.num_group == 0)
        node_.fault_at_parameter(place(list, i, "push"), "nothing comes after the only group", "group: [column, …]");
      if (!r.emit.empty()) check_port(list, i, r);
    }
  }

 private:
  bool suits(const std::string& where, const expr::expression& value) {
    const std::string reason = unsuited(*value.root());
    if (reason.empty()) return true;
    node_.fault_at_parameter(where, fmt::format("'{}' {}", value.text(), reason), "numbers and booleans",
                             "join what it gives with the result");
    return false;
  }

  void check_from(const std::string& list, size_t i, const std::string& from) {
    if (list == "at_end") {
      node_.fault_at_parameter(place(list, i, "from"), "the end of a group comes from nowhere", "no from:");
      return;
    }
    std::vector<std::string> names{pq_scan_settings::messages};
    for (const plan::input_port& in : node_.node().inputs) names.push_back(in.name);
    if (std::find(names.begin(), names.end(), from) == names.end())
      node_.fault_at_parameter(place(list, i, "from"), fmt::format("there is no input '{}'", from), one_of(names),
                               did_you_mean(from, names));
  }

  void convert(const std::string& list, size_t i, const std::string& part, const std::string& name,
               expr::expression& value) {
    const std::string where = place(list, i, part + "." + name);
    if (!suits(where, value)) return;
    std::optional<record::value_type> type;
    std::vector<std::string> names;
    if (part == "set") {
      for (const expr::variable& v : s_.state) {
        names.push_back(v.name);
        if (v.name == name) type = v.type;
      }
    } else {
      names = s_.event.names();
      if (const auto column = s_.event.index_of(name)) type = s_.event[*column].type;
    }
    if (!type) {
      node_.fault_at_parameter(where,
                               part == "set" ? fmt::format("'{}' is not a variable of `state`", name)
                                             : fmt::format("messages have no column '{}'", name),
                               one_of(names),
                               !did_you_mean(name, names).empty() ? did_you_mean(name, names)
                               : part == "push" ? "message: {column: type} declares columns that no input has"
                                                : "");
      return;
    }
    if (auto converted = value.converted_to(*type)) {
      value = *std::move(converted);
      return;
    }
    const expr::problem why = expr::conversion_problem(value, *type);
    node_.fault_at_parameter(where, fmt::format("{}, '{}' is {}", why.message, name, to_string(*type)), why.expected,
                             why.hint);
  }

  void check_port(const std::string& list, size_t i, const rule& r) {
    const std::string port = r.to.value_or(pq_scan_settings::default_port);
    const auto known = std::find(s_.ports.begin(), s_.ports.end(), port);
    record::row_type type = type_of(r.emit);
    if (known == s_.ports.end()) {
      s_.ports.push_back(port);
      s_.outputs.push_back(std::move(type));
      return;
    }
    const record::row_type& before = s_.outputs[static_cast<size_t>(known - s_.ports.begin())];
    if (type != before)
      node_.fault_at_parameter(
          place(list, i, "emit"),
          fmt::format("the rule emits {} where a rule before it emits {}", to_string(type), to_string(before)),
          "the same columns and types on a port", "name another port with `to`, or cast");
  }

  plan::node_checker& node_;
  pq_scan_settings& s_;
};

// As far as every rule of the port carries the order columns over, as they are and under the same names.
plan::order order_of_port(const pq_scan_settings& s, size_t port) {
  plan::order out;
  for (size_t k = 0; k < s.order.size(); ++k) {
    std::optional<std::string> name;
    const auto carries = [&](const std::vector<rule>& rules, const record::row_type& row, size_t num_columns) {
      for (const rule& r : rules) {
        if (r.emit.empty() || s.port_of(r) != port) continue;
        if (k >= num_columns) return false;
        std::optional<std::string> here;
        for (const auto& [column, value] : r.emit)
          if (const auto source = value.as_column(); source && row[*source].name == s.order[k].column && !here)
            here = column;
        if (!here || (name && *name != *here)) return false;
        name = here;
      }
      return true;
    };
    if (!carries(s.on, s.event, s.order.size()) || !carries(s.at_end, s.group, s.num_group) || !name) break;
    // The bits of a NaN don't all come through f64, in which rules compute.
    const auto column = s.event.index_of(s.order[k].column);
    if (!column || s.event[*column].type.kind == record::type_kind::f32) break;
    plan::order_term term = s.order[k];
    term.column = *name;
    out.push_back(term);
  }
  return out;
}

pq_scan_settings read_pq_scan(plan::node_checker& node) {
  pq_scan_settings s;
  std::vector<record::column> columns;
  read_events(node, columns);
  if (!node.ok()) return s;
  s.event = record::row_type(columns);
  for (const plan::sort_key& k : node.sort_keys("order", expr::scope{.row = &s.event})) {
    if (k.term && k.term->length == 0)
      s.order.push_back(*k.term);
    else
      node.fault_at_parameter("order", fmt::format("'{}' is not a column", k.value.text()), "a column, or -column");
  }
  const std::vector<std::string> group = node.has("group") ? node.columns("group") : std::vector<std::string>();
  std::vector<record::column> declared;
  if (node.has("message"))
    if (const auto type = node.row_type("message")) declared = type->columns();
  read_state(node, s);
  if (!node.ok()) return s;

  for (const record::column& c : declared) {
    const auto known = s.event.index_of(c.name);
    if (!is_numeric(c.type))
      node.fault_at_parameter("message." + c.name, fmt::format("'{}' is {}", c.name, to_string(c.type)),
                              "a number or a boolean");
    else if (known && s.event[*known].type != c.type)
      node.fault_at_parameter("message." + c.name,
                              fmt::format("the inputs' column '{}' is {}", c.name, to_string(s.event[*known].type)),
                              "the same type");
    if (!known) columns.push_back(c);
  }
  if (!node.ok()) return s;
  s.event = record::row_type(columns);

  // The group columns lead the order.
  s.num_group = group.size();
  std::set<std::string> wanted(group.begin(), group.end());
  for (size_t i = 0; i < std::min(group.size(), s.order.size()); ++i) wanted.erase(s.order[i].column);
  if (!wanted.empty()) {
    node.fault_at_parameter("group", fmt::format("'{}' is not among the leading columns of `order`", *wanted.begin()),
                            fmt::format("the first ones of {}", plan::to_string(s.order)));
    return s;
  }
  std::vector<record::column> group_columns;
  for (size_t i = 0; i < s.num_group; ++i) group_columns.push_back(s.event[*s.event.index_of(s.order[i].column)]);
  s.group = record::row_type(std::move(group_columns));

  s.on = node.rules("on", expr::scope{.row = &s.event, .state = s.state});
  if (node.has("at_end")) s.at_end = node.rules("at_end", expr::scope{.row = &s.group, .state = s.state});
  if (!node.ok()) return s;
  rule_checker rules(node, s);
  rules.check("on", s.on);
  rules.check("at_end", s.at_end);
  if (node.ok()) read_message(node, s, declared);
  if (!declared.empty() && node.ok())
    for (const std::string& name : pushed_columns(s))
      if (!s.message.index_of(name))
        node.fault_at_node(fmt::format("a push sets '{}', which `message` doesn't have", name),
                           fmt::format("message: {}", to_string(s.message)), "add the column to `message`");
  return s;
}

}  // namespace

size_t pq_scan_settings::port_of(const rule& r) const {
  const std::string port = r.to.value_or(default_port);
  return static_cast<size_t>(std::find(ports.begin(), ports.end(), port) - ports.begin());
}

size_t pq_scan_settings::num_pushes() const {
  const auto pushes = [](const rule& r) { return !r.push.empty(); };
  return static_cast<size_t>(std::count_if(on.begin(), on.end(), pushes) +
                             std::count_if(at_end.begin(), at_end.end(), pushes));
}

std::vector<plan::parameter_declaration> pq_scan_parameters() {
  using plan::parameter_kind;
  return {
      {.name = "order",
       .kind = parameter_kind::sort_keys,
       .required = true,
       .help = "The columns that say when an event happens: every input has them and is sorted by them; of numbers, 16 "
               "bytes at most together."},
      {.name = "group",
       .kind = parameter_kind::columns,
       .help = "The leading columns of `order` whose change ends a group: `at_end` happens, and the state starts anew. "
               "By default all events are one group."},
      {.name = "state",
       .kind = parameter_kind::named_expressions,
       .help = "Variables with their values at the start of a group, constants."},
      {.name = "message",
       .kind = parameter_kind::row_type,
       .help = "The columns of messages; by default those that pushes name. Needed for columns that no input has."},
      {.name = "on",
       .kind = parameter_kind::rules,
       .required = true,
       .help =
           "What happens for each event: rules, one after the other. `from`: only for events of this input, or for "
           "`messages`; `when`: only where it holds; `set` changes the state, then `push` sends a message, then `emit` "
           "gives a row, to the port `to`, or to `out`."},
      {.name = "at_end",
       .kind = parameter_kind::rules,
       .help = "Rules for the end of a group, over the state and the group columns. Pushes must go to a later group."},
  };
}

pq_scan_settings check_pq_scan(plan::node_checker& node) {
  if (node.num_inputs() == 0) {
    node.fault_at_node("'pq_scan' has no input", "in: {name: node, …}");
    return {};
  }
  pq_scan_settings s = read_pq_scan(node);
  if (!node.ok()) return s;
  if (s.order.empty()) {
    node.fault_at_parameter("order", "no column is given", "[column, …]");
    return s;
  }
  uint32_t order_bytes = 0;
  std::set<std::string> seen;
  for (const plan::order_term& term : s.order) {
    order_bytes += s.event[*s.event.index_of(term.column)].type.num_bytes;
    if (!seen.insert(term.column).second)
      node.fault_at_parameter("order", fmt::format("the column '{}' is named twice", term.column), "each column once");
    for (size_t i = 0; i < node.num_inputs(); ++i)
      if (!node.input_type(i).index_of(term.column))
        node.fault_at_input(i, fmt::format("'{}' has no column '{}'", node.input_name(i), term.column),
                            fmt::format("the columns of `order` in every input: {}", plan::to_string(s.order)));
  }
  if (order_bytes > pq_scan_settings::most_order_bytes)
    node.fault_at_parameter("order", fmt::format("these columns have {} bytes", order_bytes),
                            fmt::format("{} bytes at most", pq_scan_settings::most_order_bytes));
  if (s.ports.empty()) node.fault_at_parameter("on", "no rule emits anything", "emit: {column: expression}");
  if (s.num_pushes() > most_pushes)
    node.fault_at_node(fmt::format("{} rules push", s.num_pushes()), fmt::format("{} at most", most_pushes));
  if (!node.ok()) return s;
  for (size_t i = 0; i < node.num_inputs(); ++i) node.require_order(i, s.order);
  for (size_t port = 0; port < s.ports.size(); ++port)
    node.set_output(node.add_output(s.ports[port]), s.outputs[port], order_of_port(s, port));
  return s;
}

}  // namespace flowrun::operators
