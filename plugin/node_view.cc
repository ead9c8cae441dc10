#include "plugin/node_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/units.h"
#include "operators/parts/order/sort_stages.h"
#include "operators/parts/rules/estimates.h"
#include "plugin/texts.h"
#include "plugin/value_types.h"
#include "specs/value.h"

namespace flowrun::plugins {

using record::type_kind;
using record::value_type;

namespace {

plan::order order_of(const fr_order_term* terms, size_t num_terms) {
  plan::order out;
  for (size_t i = 0; i < num_terms; ++i)
    out.push_back({as_string(terms[i].column), terms[i].is_descending != 0, terms[i].from, terms[i].length});
  return out;
}

// Parts are of bytes[N] only.
bool is_part_of(const plan::order_term& t, value_type type) {
  if (t.from == 0 && t.length == 0) return true;
  return type.kind == type_kind::bytes && t.length > 0 && uint64_t{t.from} + t.length <= type.num_bytes;
}

fr_order_term shown(const plan::order_term& t) { return {as_text(t.column), t.descending, t.from, t.length, 0}; }

}  // namespace

node_view::shown_type::shown_type(const record::row_type& from) : type(from) {
  for (const record::column& c : type.columns()) columns.push_back({as_text(c.name), fr_type_of(c.type), c.offset, 0});
  raw = {columns.data(), columns.size(), type.row_bytes(), type.has_strings()};
}

node_view::node_view(plan::node_checker& node, fr_problem& problem, const std::string& who, plugin_settings& made,
                     bool knows_decimals)
    : node_(node), problem_(problem), who_(who), knows_decimals_(knows_decimals), made_(made) {
  made_.max_ratio = node.on_error().max_ratio;
}

template <class Result, class Call>
Result node_view::guarded(void* self, Result otherwise, Call call) {
  node_view& view = *static_cast<node_view*>(self);
  try {
    return call(view);
  } catch (...) {
    if (!view.problem_.raised) view.problem_.raised = std::current_exception();
    return otherwise;
  }
}

fr_node node_view::table() {
  fr_node out{};
  out.size = sizeof out;
  out.self = this;
  out.num_inputs = node_.num_inputs();
  out.id = as_text(node_.node().id);
  set_parameters(out);
  set_expressions(out);
  set_inputs(out);
  set_results(out);
  return out;
}

void node_view::set_parameters(fr_node& to) {
  to.has = [](void* self, fr_text name) {
    return guarded(self, 0, [&](node_view& v) { return v.node_.has(as_string(name)) ? 1 : 0; });
  };
  to.text = [](void* self, fr_text name) {
    return guarded(self, fr_text{0, ""},
                   [&](node_view& v) { return as_text(v.texts_.emplace_back(v.node_.text(as_string(name)))); });
  };
  to.integer = [](void* self, fr_text name) {
    return guarded(self, uint64_t{0}, [&](node_view& v) { return v.integer(as_string(name)); });
  };
  to.number = [](void* self, fr_text name) {
    return guarded(self, 0.0, [&](node_view& v) {
      const specs::Value* const value = v.node_.value(as_string(name));
      return value == nullptr ? 0.0 : specs::to_double(*value).value_or(0);
    });
  };
  to.paths = [](void* self, fr_text name, fr_text* out, size_t most) {
    return guarded(self, size_t{0}, [&](node_view& v) { return v.paths(as_string(name), out, most); });
  };
  to.columns = [](void* self, fr_text name, size_t input, uint32_t* places, size_t most) {
    return guarded(self, size_t{0}, [&](node_view& v) { return v.columns(as_string(name), input, places, most); });
  };
  to.column_pairs = [](void* self, fr_text name, uint32_t* places, size_t most) {
    return guarded(self, size_t{0}, [&](node_view& v) { return v.column_pairs(as_string(name), places, most); });
  };
  to.row_type = [](void* self, fr_text name) {
    const fr_row_type* const none = nullptr;
    return guarded(self, none, [&](node_view& v) { return v.row_type(as_string(name)); });
  };
}

void node_view::set_expressions(fr_node& to) {
  to.expression = [](void* self, fr_text name, fr_column* out) {
    return guarded(self, 0, [&](node_view& v) { return v.expression(as_string(name), out); });
  };
  to.expressions = [](void* self, fr_text name, fr_column* out, size_t most) {
    return guarded(self, size_t{0}, [&](node_view& v) { return v.expressions(as_string(name), out, most); });
  };
  to.sort_keys = [](void* self, fr_text name, fr_order_term* out, size_t most) {
    return guarded(self, size_t{0}, [&](node_view& v) { return v.sort_keys(as_string(name), out, most); });
  };
  to.rows = [](void* self) {
    static constexpr fr_row_type nothing{};
    return guarded(self, &nothing, [&](node_view& v) { return v.rows(); });
  };
}

void node_view::set_inputs(fr_node& to) {
  to.input_type = [](void* self, size_t input) {
    static constexpr fr_row_type nothing{};
    return guarded(self, &nothing, [&](node_view& v) { return v.input_type(input); });
  };
  to.input_order = [](void* self, size_t input, const fr_order_term** terms) {
    return guarded(self, size_t{0}, [&](node_view& v) { return v.input_order(input, terms); });
  };
  to.input_estimate = [](void* self, size_t input, fr_estimate* out) {
    guarded(self, 0, [&](node_view& v) {
      const plan::row_estimate& e = v.node_.input_estimate(v.known_input(input));
      *out = {e.rows, e.num_bytes, e.known, e.exact, e.most_rows, e.most_bytes};
      return 0;
    });
  };
  to.require_order = [](void* self, size_t input, const fr_order_term* terms, size_t num_terms) {
    return guarded(self, 0, [&](node_view& v) {
      return v.node_.require_order(v.known_input(input), order_of(terms, num_terms)) ? 1 : 0;
    });
  };
}

void node_view::set_results(fr_node& to) {
  to.fault = [](void* self, fr_text parameter, fr_text message, fr_text expected, fr_text hint) {
    guarded(self, 0, [&](node_view& v) {
      if (parameter.size == 0)
        v.node_.fault_at_node(as_string(message), as_string(expected), as_string(hint));
      else
        v.node_.fault_at_parameter(as_string(parameter), as_string(message), as_string(expected), as_string(hint));
      return 0;
    });
  };
  to.is_good = [](void* self) { return static_cast<node_view*>(self)->node_.ok() ? 1 : 0; };
  to.on_error = [](void* self, uint32_t* port) {
    return guarded(self, static_cast<uint32_t>(FR_ON_ERROR_FAIL), [&](node_view& v) -> uint32_t {
      using action = plan::node_checker::error_policy::action;
      const plan::node_checker::error_policy policy = v.node_.on_error();
      if (policy.what == action::to_port && !v.error_port_)
        v.error_port_ = static_cast<uint32_t>(v.node_.add_output(policy.port));
      *port = v.error_port_.value_or(0);
      return policy.what == action::fail   ? FR_ON_ERROR_FAIL
             : policy.what == action::skip ? FR_ON_ERROR_SKIP
                                           : FR_ON_ERROR_TO_PORT;
    });
  };
  to.set_output = [](void* self, uint32_t port, const fr_column* columns, size_t num_columns,
                     const fr_order_term* terms, size_t num_terms, const fr_estimate* estimate) {
    guarded(self, 0, [&](node_view& v) {
      v.set_output(port, {columns, columns + num_columns}, order_of(terms, num_terms), estimate);
      return 0;
    });
  };
  to.set_sort = [](void* self, const fr_sort* sort) {
    guarded(self, 0, [&](node_view& v) {
      v.set_sort(known_part(*sort));
      return 0;
    });
  };
  to.set_memory = [](void* self, uint32_t part, const fr_memory* memory) {
    guarded(self, 0, [&](node_view& v) {
      if (part > FR_WORK) v.refuse(fmt::format("it sets the memory of a part {}, which there isn't", part));
      if (v.node_.node().declaration->role == plan::operator_role::breaker)
        v.refuse("it sets the memory of a breaker, all of which the sort has");
      constexpr uint64_t most = uint64_t{1} << 50;
      const bool is_weight = std::isfinite(memory->weight) && memory->weight >= 0;
      v.made_.memory[part] = {std::min(memory->minimum, most),
                              std::min(std::max(memory->minimum, memory->maximum), most),
                              is_weight ? std::min(memory->weight, 1e6) : 0.0};
      return 0;
    });
  };
}

void node_view::refuse(const std::string& what) const {
  throw error(error_kind::internal, fmt::format("{}: {}", who_, what), "tell the author of the plugin");
}

size_t node_view::known_input(size_t input) const {
  if (input >= node_.num_inputs()) refuse(fmt::format("it asks for input {}, and has {}", input, node_.num_inputs()));
  return input;
}

// --- parameters ---

const plan::parameter_declaration* node_view::declared(const std::string& name) const {
  for (const plan::parameter_declaration& p : node_.node().declaration->parameters)
    if (p.name == name) return &p;
  refuse(fmt::format("it asks for the parameter '{}', which it doesn't declare", name));
}

uint64_t node_view::integer(const std::string& name) {
  switch (declared(name)->kind) {
    case plan::parameter_kind::bytes: return node_.bytes(name);
    case plan::parameter_kind::boolean: return node_.boolean(name) ? 1 : 0;
    case plan::parameter_kind::integer: return node_.integer(name);
    default: refuse(fmt::format("it asks for the number of '{}', which is declared as something else", name));
  }
}

size_t node_view::paths(const std::string& name, fr_text* out, size_t most) {
  const std::vector<std::string> found = node_.paths(name);
  for (size_t i = 0; i < std::min(found.size(), most); ++i) out[i] = as_text(texts_.emplace_back(found[i]));
  return found.size();
}

size_t node_view::columns(const std::string& name, size_t input, uint32_t* places, size_t most) {
  size_t count = 0;
  for (const std::string& column : node_.columns(name, known_input(input))) {
    const auto place = node_.input_type(input).index_of(column);
    if (place && count < most) places[count] = static_cast<uint32_t>(*place);
    ++count;
  }
  return count;
}

size_t node_view::column_pairs(const std::string& name, uint32_t* places, size_t most) {
  known_input(1);
  size_t count = 0;
  for (const auto& [first, second] : node_.column_pairs(name)) {
    const auto left = node_.input_type(0).index_of(first), right = node_.input_type(1).index_of(second);
    if (!left || !right) continue;  // a fault already
    if (count < most) {
      places[2 * count] = static_cast<uint32_t>(*left);
      places[2 * count + 1] = static_cast<uint32_t>(*right);
    }
    ++count;
  }
  return count;
}

const fr_row_type* node_view::row_type(const std::string& name) {
  const std::optional<record::row_type> type = node_.row_type(name);
  return type ? &types_.emplace_back(*type).raw : nullptr;
}

// --- inputs ---

const fr_row_type* node_view::input_type(size_t input) {
  if (inputs_.empty())
    for (size_t i = 0; i < node_.num_inputs(); ++i) inputs_.push_back(&types_.emplace_back(node_.input_type(i)).raw);
  return inputs_[known_input(input)];
}

size_t node_view::input_order(size_t input, const fr_order_term** terms) {
  std::vector<fr_order_term>& out = orders_.emplace_back();
  for (const plan::order_term& t : node_.input_order(known_input(input))) out.push_back(shown(t));
  *terms = out.data();
  return out.size();
}

// --- expressions ---

void node_view::begin_expressions() {
  const plan::operator_role role = node_.node().declaration->role;
  if (node_.num_inputs() == 0 || role == plan::operator_role::meeting)
    refuse("it asks for an expression, and has no stream of which flowrun could compute it");
  if (made_.rows.empty()) made_.rows = operators::identity(node_.input_type());
}

fr_column node_view::computed(const std::string& hidden, const std::string& shown, const expr::expression& value) {
  // What is a column already need not be computed.
  if (const auto column = value.as_column()) {
    const record::column& c = node_.input_type()[*column];
    return {as_text(texts_.emplace_back(shown)), fr_type_of(c.type), c.offset, 0};
  }
  if (!hidden_.insert(hidden).second) refuse(fmt::format("it asks for '{}' twice", shown));
  made_.rows.emplace_back(hidden, value);
  const record::row_type type = operators::type_of(made_.rows);
  const record::column& c = type.columns().back();
  return {as_text(texts_.emplace_back(shown)), fr_type_of(c.type), c.offset, 0};
}

bool node_view::refuse_decimal(const std::string& parameter, const expr::expression& value) {
  if (!value.type().is_decimal() || knows_decimals_) return false;
  node_.fault_at_parameter(
      parameter,
      fmt::format("this is {}, and the plugin was built before there were decimals", to_string(value.type())),
      "a value of another type", instead_of_decimals);
  return true;
}

int node_view::expression(const std::string& name, fr_column* out) {
  begin_expressions();
  const expr::scope scope{.row = &node_.input_type()};
  const auto value = declared(name)->kind == plan::parameter_kind::condition ? node_.condition(name, scope)
                                                                             : node_.expression(name, scope);
  if (!value || refuse_decimal(name, *value)) return 0;
  *out = computed(name + "[]", name, *value);
  return 1;
}

// Asked twice, for the number and for the columns: only then they are added.
size_t node_view::expressions(const std::string& name, fr_column* out, size_t most) {
  begin_expressions();
  if (out == nullptr) {
    const specs::Value* const value = node_.value(name);
    return value == nullptr ? 0 : static_cast<size_t>(value->map().entries_size());
  }
  size_t count = 0;
  for (const auto& [key, value] : node_.named_expressions(name, expr::scope{.row = &node_.input_type()})) {
    if (refuse_decimal(name + "." + key, value)) continue;
    if (count < most) out[count] = computed(name + "[" + key + "]", key, value);
    ++count;
  }
  return count;
}

size_t node_view::sort_keys(const std::string& name, fr_order_term* out, size_t most) {
  begin_expressions();
  if (out == nullptr) {
    const specs::Value* const value = node_.value(name);
    if (value == nullptr) return 0;
    return specs::is_scalar(*value) ? 1 : static_cast<size_t>(value->list().items_size());
  }
  size_t count = 0;
  for (const plan::sort_key& key : node_.sort_keys(name, expr::scope{.row = &node_.input_type()})) {
    if (count < most && key.term) {
      out[count] = shown(*key.term);
      out[count].column = as_text(texts_.emplace_back(key.term->column));
    } else if (count < most) {
      const std::string hidden = fmt::format("{}[{}]", name, count);
      computed(hidden, hidden, key.value);
      out[count] = {as_text(texts_.back()), key.descending, 0, 0, 0};
    }
    ++count;
  }
  return std::min(count, most);
}

const fr_row_type* node_view::rows() {
  if (node_.num_inputs() == 0) refuse("it asks for the rows of an input, and has none");
  return made_.rows.empty() ? input_type(0) : &types_.emplace_back(operators::type_of(made_.rows)).raw;
}

// --- results ---

record::column node_view::column_of(const fr_column& c) const {
  const auto type = value_type_of(c.type);
  if (!type) refuse(fmt::format("its column '{}' has no type", as_string(c.name)));
  return {as_string(c.name), *type};
}

// Names may come from the job's own parameters, so these are faults of the node.
bool node_view::has_good_names(const std::vector<fr_column>& columns, bool may_be_hidden) {
  std::set<std::string> names;
  for (const fr_column& c : columns) {
    const std::string name = as_string(c.name);
    const bool is_hidden = may_be_hidden && hidden_.contains(name);
    if (!is_hidden && (!specs::is_id(name) || name.find('-') != std::string::npos)) {
      node_.fault_at_node(fmt::format("{} would give a column the name '{}'", who_, name),
                          "letters, digits and _, as expressions have them");
      return false;
    }
    if (!names.insert(name).second) {
      node_.fault_at_node(fmt::format("{} would give two columns the name '{}'", who_, name), "distinct names");
      return false;
    }
  }
  uint64_t row_bytes = 0;
  for (const fr_column& c : columns) row_bytes += column_of(c).type.num_bytes;
  if (row_bytes > GiB) {
    node_.fault_at_node(fmt::format("{} would give rows of {}", who_, format_bytes(row_bytes)), "at most 1 GiB");
    return false;
  }
  return true;
}

void node_view::set_output(uint32_t port, const std::vector<fr_column>& columns, plan::order sorted_by,
                           const fr_estimate* estimate) {
  if (port >= node_.node().outputs.size()) refuse(fmt::format("it sets output {}, which it doesn't have", port));
  if (columns.empty()) refuse("its output has no columns");
  if (!has_good_names(columns, false)) return;
  std::vector<record::column> out;
  for (const fr_column& c : columns) out.push_back(column_of(c));
  record::row_type type(std::move(out));
  for (const plan::order_term& t : sorted_by) {
    const std::optional<size_t> place = type.index_of(t.column);
    if (!place) refuse(fmt::format("its output is sorted by '{}', which it doesn't have", t.column));
    if (!is_part_of(t, type[*place].type))
      refuse(fmt::format("its output is sorted by bytes of '{}' that there are not", t.column));
  }
  plan::row_estimate rows;
  if (estimate != nullptr && estimate->is_known)
    rows = {estimate->rows,
            estimate->num_bytes,
            true,
            estimate->is_exact != 0,
            std::max(estimate->rows, estimate->most_rows),
            std::max(estimate->num_bytes, estimate->most_bytes)};
  node_.set_output(port, std::move(type), std::move(sorted_by), rows);
}

void node_view::set_sort(const fr_sort& given) {
  if (node_.node().declaration->role != plan::operator_role::breaker || made_.sort)
    refuse("it says how its rows are sorted, and is no breaker, or has said it already");
  const std::vector<fr_column> columns(given.columns, given.columns + given.num_columns);
  if (columns.empty() || given.num_terms == 0) refuse("it sorts rows without columns, or without keys");
  if (!has_good_names(columns, true)) return;
  std::vector<record::column> out;
  for (const fr_column& c : columns) out.push_back(column_of(c));
  sort::sort_settings sort;
  sort.type = record::row_type(std::move(out));
  for (const plan::order_term& t : order_of(given.terms, given.num_terms)) {
    const auto place = sort.type.index_of(t.column);
    if (!place) refuse(fmt::format("it sorts by '{}', which its rows don't have", t.column));
    if (!is_part_of(t, sort.type[*place].type))
      refuse(fmt::format("it sorts by bytes of '{}' that it doesn't have", t.column));
    sort.key.push_back({*place, t.descending, t.from, t.length});
  }
  sort.stable = given.is_stable != 0;
  sort.unique = given.is_unique != 0;
  sort.limit = given.limit;
  plan::sort_facts& facts = node_.facts().sort;
  facts.limit_rows = sort.limit;
  facts.unique = facts.drops_equal = sort.unique;
  facts.indexed = !sort.narrow();
  facts.row_bytes = sort.type.row_bytes();
  // Of rows that the plugin makes itself, nothing is known.
  const plan::row_estimate& rows = node_.input_estimate();
  const record::row_type as_they_come = made_.rows.empty() ? node_.input_type() : operators::type_of(made_.rows);
  if (rows.known && sort.type == as_they_come)
    facts.num_bytes =
        operators::bytes_to_sort(sort.type, facts.indexed, operators::with_type(rows, node_.input_type(), sort.type));
  made_.sort = std::move(sort);
}

}  // namespace flowrun::plugins
