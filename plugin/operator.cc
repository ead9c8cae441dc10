#include "plugin/operator.h"

#include <fmt/format.h>

#include <set>
#include <sstream>

#include "engine/base/error.h"
#include "operators/parts/order/sort_stages.h"
#include "plugin/note.h"
#include "plugin/operator_check.h"
#include "plugin/operator_run.h"
#include "plugin/texts.h"
#include "plugin/value_types.h"

namespace flowrun::plugins {

namespace {

std::optional<plan::parameter_kind> kind_of(uint32_t kind) {
  using plan::parameter_kind;
  switch (kind) {
    case FR_PARAMETER_TEXT: return parameter_kind::text;
    case FR_PARAMETER_INTEGER: return parameter_kind::integer;
    case FR_PARAMETER_NUMBER: return parameter_kind::number;
    case FR_PARAMETER_BOOLEAN: return parameter_kind::boolean;
    case FR_PARAMETER_BYTES: return parameter_kind::bytes;
    case FR_PARAMETER_CHOICE: return parameter_kind::choice;
    case FR_PARAMETER_COLUMNS: return parameter_kind::columns;
    case FR_PARAMETER_PATH: return parameter_kind::path;
    case FR_PARAMETER_PATHS: return parameter_kind::paths;
    case FR_PARAMETER_ROW_TYPE: return parameter_kind::row_type;
    case FR_PARAMETER_EXPRESSION: return parameter_kind::expression;
    case FR_PARAMETER_CONDITION: return parameter_kind::condition;
    case FR_PARAMETER_EXPRESSIONS: return parameter_kind::named_expressions;
    case FR_PARAMETER_SORT_KEYS: return parameter_kind::sort_keys;
    case FR_PARAMETER_COLUMN_PAIRS: return parameter_kind::column_pairs;
    default: return std::nullopt;
  }
}

std::vector<std::string> words_of(fr_text text) {
  std::istringstream in(as_string(text));
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

// Of the role's one stream, which comes first, and of inputs that are stored.
bool inputs_fit(const fr_operator& t) {
  if (t.role == FR_SOURCE) return t.num_inputs == 0;
  if (t.num_inputs == 0) return false;
  for (size_t i = 0; i < t.num_inputs; ++i) {
    const bool is_stream = t.inputs[i].storage == FR_STREAM;
    if (t.inputs[i].storage > FR_TAKEN_IN) return false;
    if (t.role != FR_MEETING && is_stream != (i == 0)) return false;
    // Its steps run side by side, and nothing of it could wait for rows.
    if (t.role == FR_STATELESS && t.inputs[i].storage == FR_STORED) return false;
  }
  // The rows of a breaker wait for nothing else; a node either meets streams or reads what is stored.
  if (t.role == FR_BREAKER) return t.num_inputs == 1;
  return true;
}

// Why the table can't be used; empty: it can.
std::string fault_of(const fr_operator& t) {
  const std::string name = as_string(t.name);
  if (!is_word(name)) return fmt::format("the name '{}' is no word of lower case letters, digits and _", name);
  const auto wrong = [&](const char* what) { return fmt::format("the operator {} {}", name, what); };
  if (t.role > FR_MEETING) return wrong("has a role that this flowrun doesn't know");
  if (t.summary.size == 0) return wrong("has no summary");
  if (t.check == nullptr || t.build == nullptr)
    return wrong("has no check or no build (in C++: no check(), run() or apply())");
  if (!inputs_fit(t))
    return wrong(
        "has not the inputs that its role says (its one stream first; of a stateless one, others are taken in)");
  if (t.num_outputs == 0 && t.role != FR_ORDERED) return wrong("has no output");
  std::set<std::string> names;
  for (size_t i = 0; i < t.num_parameters; ++i) {
    if (!is_word(as_string(t.parameters[i].name)) || t.parameters[i].help.size == 0)
      return wrong("has a parameter without a name or help");
    if (!kind_of(t.parameters[i].kind)) return wrong("has a parameter of a kind that this flowrun doesn't know");
    if (!names.insert(as_string(t.parameters[i].name)).second) return wrong("has two parameters of one name");
  }
  std::set<std::pair<bool, std::string>> port_names;
  for (size_t i = 0; i < t.num_inputs + t.num_outputs; ++i) {
    const fr_port& port = i < t.num_inputs ? t.inputs[i] : t.outputs[i - t.num_inputs];
    if (!is_word(as_string(port.name)) || port.help.size == 0) return wrong("has a port without a name or help");
    if (!port_names.insert({i < t.num_inputs, as_string(port.name)}).second) return wrong("has two ports of one name");
  }
  return {};
}

plan::operator_declaration declaration_of(const fr_operator& t, const std::string& plugin) {
  plan::operator_declaration d;
  d.name = plugin + "." + as_string(t.name);
  d.summary = as_string(t.summary);
  d.details = as_string(t.details);
  d.order = as_string(t.order);
  d.example = as_string(t.example);
  d.role = t.role == FR_SOURCE      ? plan::operator_role::source
           : t.role == FR_STATELESS ? plan::operator_role::stateless
           : t.role == FR_BREAKER   ? plan::operator_role::breaker
           : t.role == FR_MEETING   ? plan::operator_role::meeting
           : t.num_outputs == 0     ? plan::operator_role::sink
                                    : plan::operator_role::ordered;
  d.output_optional = t.has_optional_output != 0;
  d.has_error_port = t.has_error_port != 0;
  for (size_t i = 0; i < t.num_inputs; ++i)
    d.inputs.push_back({.name = as_string(t.inputs[i].name),
                        .help = as_string(t.inputs[i].help),
                        .stored = t.inputs[i].storage != FR_STREAM,
                        .as_vector = t.inputs[i].storage == FR_STORED});
  for (size_t i = 0; i < t.num_outputs; ++i)
    d.outputs.push_back({.name = as_string(t.outputs[i].name), .help = as_string(t.outputs[i].help)});
  for (size_t i = 0; i < t.num_parameters; ++i) {
    const fr_parameter& p = t.parameters[i];
    d.parameters.push_back({.name = as_string(p.name),
                            .kind = *kind_of(p.kind),
                            .required = p.is_required != 0,
                            .default_text = as_string(p.default_text),
                            .choices = words_of(p.choices),
                            .help = as_string(p.help)});
  }
  return d;
}

constexpr uint32_t first_with_times = 1, first_with_decimals = 2;

// A plugin that was built before there were times, or decimals, would take their kinds for none that it knows. False
// with a fault.
bool refuse_unknown_types(plan::node_checker& node, const fr_operator& t, uint32_t abi_minor) {
  bool good = true;
  constexpr const char* expected = "columns of other types";
  const char* hint = "";
  const auto unknown_in = [&](const record::row_type& type) -> std::string {
    for (const record::column& c : type.columns()) {
      const bool is_new_time = c.type.is_time() && abi_minor < first_with_times;
      const bool is_new_decimal = c.type.is_decimal() && abi_minor < first_with_decimals;
      if (!is_new_time && !is_new_decimal) continue;
      hint = is_new_time ? "build the plugin anew, or let a map make numbers of them with to_i64(x)"
                         : "build the plugin anew, or let a map make numbers of them with f64(x) or i64(x * 100)";
      return fmt::format("the plugin was built before there were columns such as '{}', of {}", c.name,
                         to_string(c.type));
    }
    return {};
  };
  for (size_t i = 0; i < node.num_inputs(); ++i)
    if (std::string what = unknown_in(node.input_type(i)); !what.empty()) {
      node.fault_at_input(i, std::move(what), expected, hint);
      good = false;
    }
  for (size_t i = 0; i < t.num_parameters; ++i) {
    const std::string name = as_string(t.parameters[i].name);
    if (t.parameters[i].kind != FR_PARAMETER_ROW_TYPE || !node.has(name)) continue;
    const std::optional<record::row_type> type = node.row_type(name);
    if (std::string what = type ? unknown_in(*type) : std::string(); !what.empty()) {
      node.fault_at_parameter(name, std::move(what), expected, hint);
      good = false;
    }
  }
  return good;
}

plan::memory_wish memory(const plan::node& n, plan::node_part part) {
  if (n.role() == plan::operator_role::breaker) return operators::sort_memory(n, part);
  const plugin_settings& s = n.settings.as<plugin_settings>();
  if (part == plan::node_part::intake) return s.memory[FR_INTAKE];
  // Who says what all of it wants means the part that runs.
  return part == plan::node_part::work && s.memory[FR_WORK] != plan::memory_wish() ? s.memory[FR_WORK]
                                                                                   : s.memory[FR_WHOLE];
}

}  // namespace

exec::operator_definition make_operator(const fr_operator& given, const std::string& plugin, const std::string& who,
                                        uint32_t abi_minor) {
  const fr_operator table = known_part(given);
  if (const std::string no = fault_of(table); !no.empty())
    throw error(error_kind::internal, fmt::format("{}: {}", who, no), "tell the author of the plugin");
  const std::string name = fmt::format("{}, operator {}", who, as_string(table.name));
  exec::operator_definition out;
  out.declaration = declaration_of(table, plugin);
  out.declaration.check = [table, name, abi_minor](plan::node_checker& node) {
    if (!refuse_unknown_types(node, table, abi_minor)) return plan::checked_settings::of(plugin_settings());
    return plan::checked_settings::of(check_node(node, table, name, abi_minor >= first_with_decimals));
  };
  out.declaration.memory = memory;
  out.build = [table, name](exec::build_context& c) { return build_node(c, table, name); };
  return out;
}

}  // namespace flowrun::plugins
