#include "plugin/operator.h"

#include <fmt/format.h>

#include <set>
#include <sstream>

#include "engine/base/error.h"
#include "plugin/note.h"
#include "plugin/operator_check.h"
#include "plugin/operator_run.h"
#include "plugin/texts.h"

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
    default: return std::nullopt;
  }
}

std::vector<std::string> words_of(fr_text text) {
  std::istringstream in(as_string(text));
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

// Why the table can't be used; empty: it can.
std::string fault_of(const fr_operator& t) {
  const std::string name = as_string(t.name);
  if (!is_word(name)) return fmt::format("the name '{}' is no word of lower case letters, digits and _", name);
  const auto wrong = [&](const char* what) { return fmt::format("the operator {} {}", name, what); };
  if (t.role > FR_ORDERED) return wrong("has a role that this flowrun doesn't know");
  if (t.summary.size == 0) return wrong("has no summary");
  if (t.check == nullptr || t.build == nullptr) return wrong("has no check or no build");
  if (t.num_inputs != (t.role == FR_SOURCE ? 0U : 1U)) return wrong("has not as many inputs as its role says");
  if (t.num_outputs == 0 && t.role != FR_ORDERED) return wrong("has no output");
  std::set<std::string> names;
  for (size_t i = 0; i < t.num_parameters; ++i) {
    if (!is_word(as_string(t.parameters[i].name)) || t.parameters[i].help.size == 0)
      return wrong("has a parameter without a name or help");
    if (!kind_of(t.parameters[i].kind)) return wrong("has a parameter of a kind that this flowrun doesn't know");
    if (t.parameters[i].kind == FR_PARAMETER_COLUMNS && t.num_inputs == 0)
      return wrong("has a parameter of columns and no input");
    if (!names.insert(as_string(t.parameters[i].name)).second) return wrong("has two parameters of one name");
  }
  for (size_t i = 0; i < t.num_inputs + t.num_outputs; ++i) {
    const fr_port& port = i < t.num_inputs ? t.inputs[i] : t.outputs[i - t.num_inputs];
    if (!is_word(as_string(port.name)) || port.help.size == 0) return wrong("has a port without a name or help");
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
           : t.num_outputs == 0     ? plan::operator_role::sink
                                    : plan::operator_role::ordered;
  d.output_optional = t.has_optional_output != 0;
  for (size_t i = 0; i < t.num_inputs; ++i)
    d.inputs.push_back({.name = as_string(t.inputs[i].name), .help = as_string(t.inputs[i].help)});
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

}  // namespace

exec::operator_definition make_operator(const fr_operator& given, const std::string& plugin, const std::string& who) {
  const fr_operator table = known_part(given);
  if (const std::string no = fault_of(table); !no.empty())
    throw error(error_kind::internal, fmt::format("{}: {}", who, no), "tell the author of the plugin");
  const std::string name = fmt::format("{}, operator {}", who, as_string(table.name));
  exec::operator_definition out;
  out.declaration = declaration_of(table, plugin);
  out.declaration.check = [table, name](plan::node_checker& node) {
    return plan::checked_settings::of(check_node(node, table, name));
  };
  out.build = [table, name](exec::build_context& c) {
    return build_node(c, table, c.node.settings.as<plugin_settings>().of_plugin, name);
  };
  return out;
}

}  // namespace flowrun::plugins
