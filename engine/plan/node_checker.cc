// Reading a node's parameters that need no expressions, its faults and its results.
#include "engine/plan/node_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/plan/parameter_shape.h"
#include "engine/plan/scalar_names.h"
#include "specs/value.h"

namespace flowrun::plan {

node_checker::node_checker(graph& owner, plan::node& n, const known_files& files, std::vector<fault>& faults,
                           sub_graphs* graphs)
    : graph_(owner), node_(n), files_(files), faults_(faults), graphs_(graphs) {
  for (const parameter_declaration& p : n.declaration->parameters)
    if (!p.default_text.empty()) defaults_.emplace(p.name, default_value(p));
  own_scalars_ = scalars_of(graph_, node_);
}

const record::row_type& node_checker::input_type(size_t i) const { return graph_.input_of(node_, i).type; }
const order& node_checker::input_order(size_t i) const { return graph_.input_of(node_, i).sorted_by; }
const row_estimate& node_checker::input_estimate(size_t i) const { return graph_.input_of(node_, i).estimate; }

// --- parameters ---

bool node_checker::has(const std::string& name) const { return specs::find(node_.spec->with(), name) != nullptr; }

const specs::Value* node_checker::value(const std::string& name) const {
  if (const specs::Value* given = specs::find(node_.spec->with(), name)) return given;
  const auto it = defaults_.find(name);
  return it == defaults_.end() ? nullptr : &it->second;
}

std::string node_checker::text(const std::string& name) const {
  const specs::Value* v = value(name);
  return v ? specs::text(*v) : std::string();
}

std::vector<std::string> node_checker::texts(const std::string& name) const {
  std::vector<std::string> out;
  const specs::Value* v = value(name);
  if (!v) return out;
  if (specs::is_scalar(*v)) out.push_back(specs::text(*v));
  for (const specs::Value& item : v->list().items()) out.push_back(specs::text(item));
  return out;
}

std::vector<std::pair<std::string, std::string>> node_checker::column_texts(const std::string& name,
                                                                            const record::row_type& type) {
  std::vector<std::pair<std::string, std::string>> out;
  const specs::Value* v = value(name);
  if (!v) return out;
  for (const specs::Entry& entry : v->map().entries()) {
    if (type.index_of(entry.key())) {
      out.emplace_back(entry.key(), specs::text(entry.value()));
    } else {
      const std::string& said = specs::text(entry.value());
      std::string hint = did_you_mean(entry.key(), type.names());
      if (hint.empty() && type.index_of(said))
        hint = fmt::format("the column stands first: {}: {{{}: {}}}", name, said, entry.key());
      const std::string of = num_inputs() == 0 ? "'type'" : fmt::format("'{}'", input_name(0));
      add(entry.key_position(), fmt::format("{} has no column '{}'", of, entry.key()), one_of(type.names()),
          std::move(hint));
    }
  }
  return out;
}

uint64_t node_checker::integer(const std::string& name) const {
  const specs::Value* v = value(name);
  return v ? specs::to_uint(*v).value_or(0) : 0;
}

uint64_t node_checker::bytes(const std::string& name) const {
  const specs::Value* v = value(name);
  return v ? specs::to_bytes(*v).value_or(0) : 0;
}

bool node_checker::boolean(const std::string& name) const {
  const specs::Value* v = value(name);
  return v && specs::to_bool(*v).value_or(false);
}

std::optional<record::row_type> node_checker::row_type(const std::string& name) {
  const specs::Value* v = value(name);
  return v ? row_type_of(*v) : std::nullopt;
}

std::optional<record::row_type> node_checker::row_type_of(const specs::Value& value) {
  const size_t faults_before = faults_.size();
  record::row_type type = read_row_type(value, graph_.types, graph_.job->file(), faults_);
  count_faults(faults_before);
  if (type.num_columns() == 0) return std::nullopt;
  return type;
}

const specs::Body* node_checker::body(const std::string& name) const {
  for (const specs::Body& b : node_.spec->bodies())
    if (b.name() == name) return &b;
  return nullptr;
}

node_checker::error_policy node_checker::on_error() const {
  error_policy policy;
  if (!node_.spec->has_on_error()) return policy;
  const specs::OnError& e = node_.spec->on_error();
  switch (e.action()) {
    case specs::OnError::SKIP: policy.what = error_policy::action::skip; break;
    case specs::OnError::PORT:
      policy.what = error_policy::action::to_port;
      policy.port = e.port();
      break;
    default: break;
  }
  if (e.has_max_ratio()) policy.max_ratio = e.max_ratio();
  return policy;
}

// --- faults ---

void node_checker::add(const specs::Position& where, std::string message, std::string expected, std::string hint) {
  // A fault without a place of its own points to the operator's name.
  const bool placed = where.line() > 0 || !where.origin().empty();
  faults_.push_back({specs::where(graph_.job->file(), placed ? where : node_.spec->op_position()), std::move(message),
                     std::move(expected), std::move(hint)});
  ++num_faults_;
}

void node_checker::fault_at_parameter(const std::string& name, std::string message, std::string expected,
                                      std::string hint) {
  const specs::Value* v = &node_.spec->with();
  std::string_view rest = name;
  while (v && !rest.empty()) {
    const size_t dot = std::min(rest.find('.'), rest.size());
    const std::string_view part = rest.substr(0, dot);
    size_t item = 0;
    if (specs::is_list(*v) && std::from_chars(part.data(), part.data() + part.size(), item).ec == std::errc())
      v = item < static_cast<size_t>(v->list().items_size()) ? &v->list().items(static_cast<int>(item)) : nullptr;
    else
      v = specs::find(*v, part);
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  add(v ? v->position() : specs::Position(), std::move(message), std::move(expected), std::move(hint));
}

void node_checker::fault_at_input(size_t i, std::string message, std::string expected, std::string hint) {
  const specs::Input* input = node_.inputs[i].spec;
  add(input ? input->position() : specs::Position(), std::move(message), std::move(expected), std::move(hint));
}

void node_checker::fault_at_node(std::string message, std::string expected, std::string hint) {
  add(node_.spec->op_position(), std::move(message), std::move(expected), std::move(hint));
}

namespace {

// As a list in YAML; keys that flow style would break are quoted.
std::string yaml_list(const order& keys) {
  std::string out = "[";
  for (const order_term& term : keys) {
    const std::string key = to_string(order{term});
    if (out.size() > 1) out += ", ";
    out += key.find('[') == std::string::npos ? key : "\"" + key + "\"";
  }
  return out + "]";
}

}  // namespace

// Of the sort that is missing in front of input i. Where the node reads a stream twice, the two may need different
// ones.
std::string node_checker::sorted_name(size_t i, const order& need) const {
  std::string out = input_name(i);
  bool is_read_twice = false;
  for (size_t k = 0; k < num_inputs(); ++k) is_read_twice = is_read_twice || (k != i && input_name(k) == out);
  std::replace(out.begin(), out.end(), '.', '_');
  return out + "_sorted" + (is_read_twice && !need.empty() ? "_by_" + need.front().column : "");
}

bool node_checker::require_order(size_t i, const order& need) {
  if (satisfies(input_order(i), need)) {
    facts().needs.push_back({i, need.size()});
    return true;
  }
  const std::string input = input_name(i), id = sorted_name(i, need);
  fault_at_input(
      i, fmt::format("'{}' needs '{}' sorted by {}", node_.declaration->name, input, to_string(need)),
      fmt::format("rows sorted by {}; what is known is: sorted by {}", to_string(need), to_string(input_order(i))),
      fmt::format("add  {}: {{op: sort, in: {}, with: {{by: {}}}}}  and read from {}", id, input, yaml_list(need), id));
  return false;
}

bool node_checker::require_adjacent(size_t i, const std::vector<std::string>& columns, std::string_view other_way,
                                    bool stable) {
  if (adjacent(input_order(i), columns)) {
    facts().needs.push_back({i, columns.size()});
    return true;
  }
  order need;
  for (const std::string& column : columns) need.push_back({column});
  const std::string input = input_name(i), id = sorted_name(i, need);
  fault_at_input(
      i, fmt::format("'{}' needs equal {} of '{}' next to each other", node_.declaration->name, to_string(need), input),
      fmt::format("rows sorted by {} in any sequence; what is known is: sorted by {}", to_string(need),
                  to_string(input_order(i))),
      fmt::format("add  {}: {{op: sort, in: {}, with: {{by: {}{}}}}}  and read from {}{}{}", id, input, yaml_list(need),
                  stable ? ", stable: true" : "", id, other_way.empty() ? "" : "; or ", other_way));
  return false;
}

// --- results ---

void node_checker::set_output(size_t port, record::row_type type, order sorted_by, row_estimate estimate) {
  FLOWRUN_CHECK(port < node_.outputs.size());
  output_port& out = node_.outputs[port];
  out.type = std::move(type);
  out.sorted_by = std::move(sorted_by);
  out.estimate = estimate;
}

void node_checker::store_input(size_t i, bool as_vector) {
  FLOWRUN_CHECK(i < node_.inputs.size());
  node_.inputs[i].stored = true;
  node_.inputs[i].as_vector = as_vector;
}

void node_checker::pass_rows_on(row_estimate estimate) {
  set_output(0, input_type(), input_order(), estimate);
  passes_rows_on_ = true;
}

size_t node_checker::add_output(const std::string& name) {
  for (const output_port& out : node_.outputs)
    if (out.name == name) {
      const specs::OnError& e = node_.spec->on_error();
      const bool by_error = e.action() == specs::OnError::PORT && e.port() == name;
      add(by_error ? e.to_position() : specs::Position(),
          fmt::format("'{}' has an output '{}' already", node_.id, name), "another name for the port", {});
    }
  node_.outputs.emplace_back().name = name;
  return node_.outputs.size() - 1;
}

}  // namespace flowrun::plan
