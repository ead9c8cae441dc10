#include "operators/parts/control/loop_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/expr/conversion.h"
#include "engine/plan/body_ports.h"
#include "specs/value.h"

namespace flowrun::operators {

namespace {

using record::type_kind;
using record::value_type;

// False where it isn't known before the run.
bool runs_at_least_once(const expr::expression& times) {
  const std::optional<uint64_t> bits = times.constant_bits();
  if (!bits) return false;
  return times.type().is_signed() ? static_cast<int64_t>(*bits) > 0 : *bits > 0;
}

class loop_checker {
 public:
  explicit loop_checker(plan::node_checker& node) : node_(node) {}

  loop_settings run() {
    check();
    return std::move(out_);
  }

 private:
  void check() {
    read_carried();
    read_bounds();
    if (!node_.ok()) return;
    read_next();
    read_collected();
    if (node_.ok()) infer_types();
    if (node_.ok()) read_orders();
    if (!node_.ok()) return;
    mention_nodes();
    if (!find_orders()) return;
    check_scalars();
    if (node_.ok()) finish();
  }

  void read_carried() {
    for (const plan::input_port& in : node_.node().inputs) out_.inputs.push_back(in.name);
    const specs::Value* carry = node_.value("carry");
    if (carry == nullptr) return;
    for (const specs::Entry& entry : carry->map().entries()) read_entry(entry);
  }

  void read_entry(const specs::Entry& entry) {
    const specs::Value& v = entry.value();
    const specs::Value *rows = specs::find(v, "rows"), *from = specs::find(v, "from"), *value = specs::find(v, "value");
    for (const specs::Entry& inside : v.map().entries()) {
      const std::string& key = inside.key();
      if (key == "rows" || key == "from" || key == "value" || (key == "type" && rows) ||
          (key == "sorted_by" && value == nullptr))
        continue;
      node_.fault_at(inside.key_position(), fmt::format("what a loop carries has no '{}'", key),
                     "rows (and their type), from, or value; and sorted_by with rows or from");
    }
    if ((rows != nullptr) + (from != nullptr) + (value != nullptr) != 1)
      return node_.fault_at(v.position(), fmt::format("what does '{}' start with?", entry.key()),
                            "rows: […], from: an input of the loop, or value: a number");
    if (value != nullptr) return read_scalar(entry, *value);
    carried_stream s;
    s.name = entry.key();
    if (from != nullptr)
      read_input(s, *from);
    else
      read_rows(s, *rows, specs::find(v, "type"));
    if (const specs::Value* order = specs::find(v, "sorted_by")) orders_[s.name] = order;
    for (std::string& name : out_.inputs)
      if (name == s.name) name.clear();
    out_.streams.push_back(std::move(s));
  }

  void read_scalar(const specs::Entry& entry, const specs::Value& value) {
    if (!specs::is_column_name(entry.key()) || expr::is_reserved_word(entry.key()) || entry.key() == iteration_name ||
        entry.key() == iterations_column)
      node_.fault_at(
          entry.key_position(), fmt::format("'{}' can't name a scalar", entry.key()),
          fmt::format("a letter or _, then letters, digits and _; no word of expressions, and not '{}' or '{}', "
                      "which are the loop's own",
                      iteration_name, iterations_column));
    if (const auto initial = check_scalar(node_, value, {}))
      out_.scalars.push_back({entry.key(), initial->type(), *initial});
  }

  void read_input(carried_stream& s, const specs::Value& from) {
    const std::vector<plan::input_port>& inputs = node_.node().inputs;
    const auto it = std::find_if(inputs.begin(), inputs.end(),
                                 [&](const plan::input_port& in) { return in.name == specs::text(from); });
    if (it == inputs.end()) {
      std::vector<std::string> names;
      for (const plan::input_port& in : inputs) names.push_back(in.name);
      return node_.fault_at(from.position(), fmt::format("the loop has no input '{}'", specs::text(from)),
                            names.empty() ? "in: {name: node}" : one_of(names), did_you_mean(specs::text(from), names));
    }
    s.input = static_cast<size_t>(it - inputs.begin());
    s.type = node_.input_type(*s.input);
    s.sorted_by = node_.input_order(*s.input);
  }

  void read_rows(carried_stream& s, const specs::Value& rows, const specs::Value* type) {
    record::row_type given;
    if (type != nullptr) {
      const auto read = node_.row_type_of(*type);
      if (!read) return;
      given = *read;
    }
    given_rows checked = check_rows(node_, rows, given);
    s.rows = std::move(checked.rows);
    s.type = std::move(checked.type);
    s.sorted_by = by_all_columns(s.type);
    s.any_order = s.rows->empty();
  }

  void read_bounds() {
    until_ = node_.value("until");
    const specs::Value* const times = node_.value("times");
    out_.max_iterations = node_.integer("max_iterations");
    if (until_ == nullptr && times == nullptr)
      node_.fault_at_node("when does the loop end?", "until: a condition, or times: a number of iterations");
    if (times != nullptr) check_times(*times);
    if (times != nullptr && node_.has("max_iterations"))
      node_.fault_at_parameter("max_iterations", "`times` says how many iterations there are at most",
                               "times, or max_iterations");
    else if (times == nullptr && out_.max_iterations == 0)
      node_.fault_at_parameter("max_iterations", "a loop with no iterations can't end", "1 or more");
    if (node_.body("body") == nullptr) node_.fault_at_node("the loop has no nodes inside", "body: {id: {op: …}}");
  }

  void check_times(const specs::Value& times) {
    out_.times = check_scalar(node_, times, {});
    if (out_.times && !out_.times->type().is_integer())
      node_.fault_at(times.position(),
                     fmt::format("a number of iterations is no {}", record::to_string(out_.times->type())),
                     "a whole number");
  }

  std::vector<std::string> stream_names() const {
    std::vector<std::string> out;
    for (const carried_stream& s : out_.streams) out.push_back(s.name);
    for (const std::string& name : out_.inputs)
      if (!name.empty()) out.push_back(name);
    return out;
  }

  // An endpoint of the body, as rows; adds the result for it.
  body_rows rows_of(const specs::Value& text, const std::string& id) {
    const std::vector<std::string> streams = stream_names();
    if (std::find(streams.begin(), streams.end(), specs::text(text)) != streams.end()) return {specs::text(text), {}};
    const plan::endpoint_name from = plan::split_endpoint(specs::text(text));
    request_.outputs.push_back({id, from.node, from.port, text.position(), false});
    return {{}, id};
  }

  void read_next() {
    for (carried_stream& s : out_.streams) s.next.stream = s.name;
    const specs::Value* next = node_.value("next");
    if (next == nullptr) return;
    std::vector<std::string> names;
    for (const carried_stream& s : out_.streams) names.push_back(s.name);
    for (const carried_scalar& s : out_.scalars) names.push_back(s.name);
    for (const specs::Entry& entry : next->map().entries()) {
      const auto named = [&](const auto& one) { return one.name == entry.key(); };
      const auto stream = std::find_if(out_.streams.begin(), out_.streams.end(), named);
      const auto scalar = std::find_if(out_.scalars.begin(), out_.scalars.end(), named);
      if (stream != out_.streams.end())
        stream->next = rows_of(entry.value(), "next of " + stream->name);
      else if (scalar != out_.scalars.end())
        nexts_[scalar->name] = &entry.value();
      else
        node_.fault_at(entry.key_position(), fmt::format("the loop carries no '{}'", entry.key()),
                       names.empty() ? "carry: {name: …}" : one_of(names), did_you_mean(entry.key(), names));
    }
  }

  void read_collected() {
    const specs::Value* collect = node_.value("collect");
    if (collect == nullptr) return;
    for (const specs::Entry& entry : collect->map().entries()) {
      const bool taken =
          entry.key() == scalars_port || std::any_of(out_.streams.begin(), out_.streams.end(),
                                                     [&](const carried_stream& s) { return s.name == entry.key(); });
      if (taken)
        node_.fault_at(entry.key_position(), fmt::format("the loop has an output '{}' already", entry.key()),
                       "another name", "carried streams are outputs by their names, and 'scalars' is one");
      out_.collected.push_back({entry.key(), rows_of(entry.value(), "collect " + entry.key()), {}});
    }
  }

  // A stream that starts empty and without a type has the type of the one that follows it.
  void infer_types() {
    for (size_t round = 0; round < out_.streams.size(); ++round)
      for (carried_stream& s : out_.streams)
        if (s.type.num_columns() == 0) s.type = type_of_stream(s.next.stream);
    for (carried_stream& s : out_.streams) {
      if (s.type.num_columns() == 0)
        node_.fault_at_parameter("carry." + s.name, fmt::format("which columns does '{}' have?", s.name),
                                 "{rows: […], type: a row type}");
      else if (s.rows)
        s.sorted_by = by_all_columns(s.type);
    }
  }

  // What `sorted_by` declares must hold at the start; find_orders() sees to it that it goes on holding.
  void read_orders() {
    for (carried_stream& s : out_.streams) {
      const auto order = orders_.find(s.name);
      if (order == orders_.end()) continue;
      s.declared = columns_in(*order->second, s);
      if (!node_.ok()) return;
      if (s.any_order)
        s.sorted_by = s.declared;
      else if (!plan::satisfies(s.sorted_by, s.declared))
        node_.fault_at(order->second->position(),
                       fmt::format("'{}' starts sorted by {}", s.name, to_string(s.sorted_by)),
                       "sorted by " + to_string(s.declared),
                       s.input ? fmt::format("put a sort by [{}] in front of the loop", to_string(s.declared))
                               : "rows that stand here are sorted by all their columns");
    }
  }

  // A column, or a list of them; "-a" for descending.
  plan::order columns_in(const specs::Value& columns, const carried_stream& s) {
    plan::order out;
    const auto add = [&](const specs::Value& item) {
      std::string column = specs::is_scalar(item) ? specs::text(item) : std::string();
      const bool descending = column.starts_with('-');
      if (descending) column.erase(0, 1);
      if (s.type.index_of(column))
        out.push_back({column, descending});
      else
        node_.fault_at(item.position(), fmt::format("'{}' has no column '{}'", s.name, column),
                       "columns, such as [a, -b]: " + one_of(s.type.names()), did_you_mean(column, s.type.names()));
    };
    if (!specs::is_list(columns)) {
      add(columns);
    } else {
      for (const specs::Value& item : columns.list().items()) add(item);
    }
    return out;
  }

  record::row_type type_of_stream(const std::string& name) const {
    for (const carried_stream& s : out_.streams)
      if (s.name == name) return s.type;
    for (size_t i = 0; i < out_.inputs.size(); ++i)
      if (!name.empty() && out_.inputs[i] == name) return node_.input_type(i);
    return {};
  }

  void mention_nodes() {
    const specs::Body* body = node_.body("body");
    out_.mentioned = mentioned_nodes(stream_names());
    if (until_ != nullptr) out_.mentioned.scan(*until_, body, request_.outputs);
    for (const carried_scalar& s : out_.scalars)
      if (const auto next = nexts_.find(s.name); next != nexts_.end())
        out_.mentioned.scan(*next->second, body, request_.outputs);
  }

  void prepare_request() {
    const std::string& outer = node_.owner().path;
    request_.path = (outer.empty() ? "" : outer + ".") + node_.node().id;
    request_.nodes = &node_.body("body")->nodes();
    std::vector<expr::constant> scalars;
    for (const carried_scalar& s : out_.scalars) scalars.push_back({s.name, s.type, 0});
    scalars.push_back({iteration_name, value_type::of(type_kind::u64), 0});
    request_.scalars = with_outer(std::move(scalars), node_.owner().scalars);
  }

  bool find_orders() {
    prepare_request();
    const size_t files = node_.graphs().num_files();
    for (bool first = true;; first = false) {
      request_.inputs.clear();
      for (const carried_stream& s : out_.streams) request_.inputs.push_back({s.name, s.type, s.sorted_by, {}});
      for (size_t i = 0; i < out_.inputs.size(); ++i)
        if (!out_.inputs[i].empty())
          request_.inputs.push_back(
              {out_.inputs[i], node_.input_type(i), node_.input_order(i), node_.input_estimate(i)});
      node_.graphs().forget_files(files);
      body_ = std::make_shared<plan::graph>();
      const size_t before = node_.faults().size();
      const bool good = node_.graphs().check(request_, *body_, node_.faults());
      node_.count_faults(before);
      if (!good || !types_agree()) return false;
      if (!weaken_orders(first)) return declared_orders_hold();
    }
  }

  const plan::output_port& given(const std::string& result) const { return body_->input_of(*body_->find(result), 0); }

  record::row_type type_of(const body_rows& rows) const {
    return rows.stream.empty() ? given(rows.result).type : type_of_stream(rows.stream);
  }

  plan::order order_of(const body_rows& rows) const {
    return rows.stream.empty() ? given(rows.result).sorted_by : body_->find(rows.stream)->outputs[0].sorted_by;
  }

  bool types_agree() {
    for (const carried_stream& s : out_.streams)
      if (const record::row_type next = type_of(s.next); next != s.type)
        node_.fault_at_parameter(
            "next." + s.name,
            fmt::format("'{}' starts as {} and goes on as {}", s.name, to_string(s.type), to_string(next)),
            "the same columns, in the same order",
            fmt::format("make them so with a map: {{op: map, in: …, with: {{column: value}}}}"));
    for (collected_rows& c : out_.collected) c.type = type_of(c.from);
    return node_.ok();
  }

  bool declared_orders_hold() {
    for (const carried_stream& s : out_.streams)
      if (const plan::order have = order_of(s.next); !plan::satisfies(have, s.declared))
        node_.fault_at_parameter("next." + s.name, fmt::format("'{}' goes on sorted by {}", s.name, to_string(have)),
                                 fmt::format("sorted by {}, as carry says", to_string(s.declared)),
                                 fmt::format("end the body with {{op: sort, in: …, with: {{by: [{}]}}}}, or with a "
                                             "check if it is sorted anyway",
                                             to_string(s.declared)));
    return node_.ok();
  }

  // True when an assumption had to be given up.
  bool weaken_orders(bool first) {
    bool changed = false;
    std::vector<plan::order> orders;
    for (const carried_stream& s : out_.streams) {
      const plan::order have = order_of(s.next);
      orders.push_back(first && s.any_order ? have : weakened(s.sorted_by, have));
      if (!plan::satisfies(orders.back(), s.declared)) orders.back() = s.declared;
      changed = changed || orders.back() != s.sorted_by;
    }
    for (size_t i = 0; i < orders.size(); ++i) out_.streams[i].sorted_by = std::move(orders[i]);
    return changed;
  }

  void check_scalars() {
    std::vector<expr::constant> names =
        out_.mentioned.names(node_, [&](const std::string& name, bool is_stream) -> const plan::output_port& {
          return is_stream ? body_->find(name)->outputs[0] : given(name);
        });
    if (!node_.ok()) return;
    names = with_outer(std::move(names), request_.scalars);
    for (carried_scalar& s : out_.scalars) {
      const auto next = nexts_.find(s.name);
      if (next == nexts_.end()) continue;
      const auto value = node_.compiled(*next->second, expr::scope{.constants = names});
      const bool narrows = value && value->type().is_float() && !s.type.is_float();
      if (value && !narrows) s.next = value->converted_to(s.type);
      const std::string wider = value ? expr::widening_hint(s.initial, *value, "as its first value") : "";
      if (value && !s.next)
        node_.fault_at(next->second->position(),
                       fmt::format("'{}' starts as {} and goes on as {}", s.name, record::to_string(s.type),
                                   record::to_string(value->type())),
                       record::to_string(s.type),
                       wider.empty() ? expr::conversion_problem(*value, s.type).hint : wider);
    }
    if (until_ != nullptr) out_.until = node_.compiled(*until_, expr::scope{.constants = names}, true);
  }

  void finish() {
    bool seeks = false;
    for (const plan::body_input& in : request_.inputs) seeks = seeks || plan::is_sought(*body_, in.name);
    node_.facts().seeks = seeks;
    node_.facts().bodies_run = !out_.times || runs_at_least_once(*out_.times);
    for (carried_stream& s : out_.streams) s.sought = plan::is_sought(*body_, s.name);
    // A stream that becomes another one, which is sought in, needs the index as well. Its order is that one's, or more.
    for (bool changed = true; changed;) {
      changed = false;
      for (const carried_stream& s : out_.streams)
        for (carried_stream& from : out_.streams) {
          if (!s.sought || from.sought || from.name != s.next.stream) continue;
          from.sought = changed = true;
        }
    }
    for (const carried_stream& s : out_.streams)
      for (plan::node& n : body_->nodes)
        if (s.sought && n.id == s.next.result) n.facts.sought = true;
    for (const collected_rows& c : out_.collected) node_.set_output(node_.add_output(c.port), c.type);
    for (const carried_stream& s : out_.streams) node_.set_output(node_.add_output(s.name), s.type, s.sorted_by);
    std::vector<record::column> columns;
    for (const carried_scalar& s : out_.scalars) columns.push_back({s.name, s.type});
    columns.push_back({iterations_column, value_type::of(type_kind::u64)});
    const record::row_type row(std::move(columns));
    node_.set_output(node_.add_output(scalars_port), row, {}, {1, row.row_bytes(), true, true});
    node_.node().bodies = {body_};
  }

  plan::node_checker& node_;
  loop_settings out_;
  // What stands in the spec, by name, until it can be checked.
  std::map<std::string, const specs::Value*> orders_, nexts_;
  const specs::Value* until_ = nullptr;
  plan::body_request request_;
  std::shared_ptr<plan::graph> body_;
};

}  // namespace

loop_settings check_loop(plan::node_checker& node) { return loop_checker(node).run(); }

}  // namespace flowrun::operators
