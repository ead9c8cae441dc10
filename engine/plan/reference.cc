#include "engine/plan/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/expr/functions.h"
#include "engine/expr/outside_function.h"
#include "engine/expr/rules.h"
#include "engine/plan/job_reference.h"
#include "engine/plan/parameter_shape.h"
#include "engine/record/value_type.h"

namespace flowrun::plan {

namespace {

// For a cell of a table.
std::string cell(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string code(std::string_view text) { return text.empty() ? "" : "`" + cell(text) + "`"; }

std::string inputs_of(const operator_declaration& d) {
  if (d.inputs.empty()) return "none";
  if (d.any_number_of_inputs) return "a list of nodes";
  if (d.inputs_by_name) return "any, by names of your choice";
  if (d.inputs.size() == 1) return "one";
  std::vector<std::string> names;
  for (const port_declaration& port : d.inputs) names.push_back(port.name);
  return joined(names, ", ");
}

std::string outputs_of(const operator_declaration& d) {
  std::vector<std::string> names;
  for (const port_declaration& port : d.outputs) names.push_back(port.name);
  std::string out = d.outputs_from_parameters ? "named by a parameter" : names.empty() ? "none" : joined(names, ", ");
  if (d.has_error_port) out += "; rejected rows with on_error: {to: PORT}";
  return out;
}

bool is_breaker(const operator_declaration& d) { return d.role == operator_role::breaker; }

std::string operator_markdown(const operator_declaration& d) {
  std::string out = fmt::format("### {}\n\n{}\n\n", d.name, d.summary);
  if (!d.details.empty()) out += d.details + "\n\n";
  out += fmt::format("- Inputs: {}\n- Outputs: {}\n", inputs_of(d), outputs_of(d));
  if (!d.order.empty()) out += fmt::format("- Order: {}\n", d.order);
  if (is_breaker(d)) out += "- Breaks the pipeline: what comes after it runs in a later phase.\n";
  for (const auto* ports : {&d.inputs, &d.outputs})
    for (const port_declaration& port : *ports)
      if (!port.help.empty() && ports->size() > 1) out += fmt::format("- `{}`: {}\n", port.name, port.help);
  out += "\n";
  if (d.free_columns) out += "Every other key under `with:` is a column of the output and its expression.\n\n";
  if (!d.parameters.empty()) {
    out += "| parameter | value | default | meaning |\n|---|---|---|---|\n";
    for (const parameter_declaration& p : d.parameters)
      out += fmt::format("| `{}` | {} | {} | {} |\n", p.name, cell(describe(p)),
                         p.required ? "required" : code(p.default_text), cell(p.help));
    out += "\n";
  }
  if (!d.example.empty()) out += fmt::format("```yaml\n{}{}```\n\n", d.example, d.example.ends_with('\n') ? "" : "\n");
  return out;
}

// What a parameter takes, and whether it may be left out.
std::string described(const parameter_declaration& p) {
  return describe(p) + (p.required ? "; required" : p.default_text.empty() ? "" : "; default " + p.default_text);
}

std::string function_table(const std::vector<expr::function_help>& functions) {
  std::string out = "| | meaning |\n|---|---|\n";
  for (const expr::function_help& f : functions) out += fmt::format("| {} | {} |\n", code(f.signature), cell(f.help));
  return out + "\n";
}

std::string rules_markdown() {
  std::string columns;
  for (const expr::example_column& c : expr::example_columns())
    columns += fmt::format("{}`{}: {}` = {}", columns.empty() ? "" : ", ", c.name, c.type, c.value);
  std::string out = "### Types and values\n\nThe columns of the examples: " + columns + ".\n\n";
  for (const expr::value_rule& rule : expr::value_rules()) {
    out += fmt::format("**{}.** {}\n\n| expression | type | value |\n|---|---|---|\n", rule.title, rule.text);
    for (const expr::rule_example& e : rule.examples)
      out += fmt::format("| {} | {} | {} |\n", code(e.text), e.type.empty() ? "a fault" : code(e.type), cell(e.value));
    out += "\n";
  }
  return out;
}

constexpr std::string_view about_times =
    "A `date` is a number of days since 1970-01-01 (i32), a `timestamp` one of microseconds since then, UTC (i64); "
    "both are ordered, compared and used as keys as such. Texts of them have the years 0001 to 9999: `2026-11-23`, and "
    "`2026-11-23T22:15:03.123456Z`, where T may be a blank, and seconds, fraction and zone may be left out; a zone "
    "such as `+02:00` is taken off, and the seventh to ninth digits of a fraction are cut (no more are read). Beside a "
    "time, a constant text in "
    "an expression is one: `day >= '2026-01-01'`. `date + n` adds days, the difference of two dates is in days, that "
    "of two timestamps in microseconds; `date_add` and `date_diff` have other units. What is computed stops at "
    "0001-01-01 and 9999-12-31.\n\n";

constexpr std::string_view about_decimals =
    "A `decimal[S]` is exact, as money wants it: an integer of 64 bits (i64) that counts units of 10^-S, S from 0 to "
    "18, ordered, compared and used as a key as that. Its text has S digits behind the point: `-12.50` of decimal[2]. "
    "Texts that are read may have fewer digits, or more zeros at the end; other digits behind the S-th make them "
    "malformed. Expressions compute with decimals as the rules below say. In a row file it takes 8 bytes. Inside {…} "
    "and […], write \"decimal[2]\" in quotes.\n\n";

}  // namespace

std::string reference_markdown(const vocabulary& catalog) {
  std::string out =
      "# Reference of the job language\n\n"
      "Generated by `flowrun reference` from the operators' declarations: don't edit.\n\n" +
      job_markdown() + "## Operators\n\n| operator | | |\n|---|---|---|\n";
  for (const std::string& name : catalog.names()) {
    const operator_declaration& d = *catalog.find(name);
    std::string anchor;
    for (char c : name)
      if (c != '.') anchor += c;
    out += fmt::format("| [{}](#{}) | {} | {} |\n", name, anchor, cell(d.summary),
                       is_breaker(d) ? "breaks the pipeline" : "");
  }
  out += "\n";
  for (const std::string& name : catalog.names()) out += operator_markdown(*catalog.find(name));
  out += resources_markdown();
  out += "## Value types\n\nRows are packed, little endian, in the order of the columns. A column is " +
         std::string(record::value_type_names()) + ".\n\n" + std::string(about_times) + std::string(about_decimals);
  out += "## Expressions\n\n" + rules_markdown();
  out += "### Operators, the tightest first\n\n" + function_table(expr::operators());
  out += "### Functions\n\n" + function_table(expr::functions());
  if (catalog.functions() != nullptr && !catalog.functions()->help().empty())
    out += "### Functions of plugins\n\n" + function_table(catalog.functions()->help());
  out += "### Aggregates\n\n" + function_table(expr::aggregates());
  if (catalog.functions() != nullptr && !catalog.functions()->aggregate_help().empty())
    out += "### Aggregates of plugins\n\n" + function_table(catalog.functions()->aggregate_help());
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

std::string operator_list(const vocabulary& catalog) {
  size_t width = 0;
  for (const std::string& name : catalog.names()) width = std::max(width, name.size());
  std::string out;
  for (const std::string& name : catalog.names())
    out += fmt::format("{:<{}}  {}\n", name, width, catalog.find(name)->summary);
  return out;
}

std::string usage_text(const operator_declaration& d) {
  std::string out = fmt::format("{}: {}\n", d.name, d.summary);
  if (!d.details.empty()) out += "\n" + d.details + (d.details.ends_with('\n') ? "" : "\n");
  out += fmt::format("\ninputs   {}\noutputs  {}\n", inputs_of(d), outputs_of(d));
  if (!d.order.empty()) out += fmt::format("order    {}\n", d.order);
  if (is_breaker(d)) out += "breaks the pipeline: what comes after it runs in a later phase\n";
  if (!d.parameters.empty() || d.free_columns) out += "\nparameters (under with:)\n";
  size_t width = 0;
  for (const parameter_declaration& p : d.parameters) width = std::max(width, p.name.size());
  for (const parameter_declaration& p : d.parameters) {
    out += fmt::format("  {:<{}}  {}\n", p.name, width, described(p));
    if (!p.help.empty()) out += fmt::format("  {:<{}}  {}\n", "", width, p.help);
  }
  if (d.free_columns) out += "  every other key is a column of the output and its expression\n";
  if (!d.example.empty()) {
    out += "\nexample\n";
    std::string_view rest = d.example;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      out += "  " + std::string(rest.substr(0, end)) + "\n";
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return out;
}

std::vector<std::string> key_names(const vocabulary& catalog) {
  std::vector<std::string> out = job_key_names();
  for (const std::string& op : catalog.names())
    for (const parameter_declaration& p : catalog.find(op)->parameters) out.push_back(p.name);
  return out;
}

std::string key_text(const vocabulary& catalog, const std::string& name) {
  std::vector<std::pair<std::string, std::vector<std::string>>> meanings;  // and the operators that have them
  for (const std::string& op : catalog.names())
    for (const parameter_declaration& p : catalog.find(op)->parameters) {
      if (p.name != name) continue;
      std::string meaning = described(p) + (p.help.empty() ? "" : "\n  " + p.help);
      const auto same =
          std::find_if(meanings.begin(), meanings.end(), [&](const auto& other) { return other.first == meaning; });
      if (same == meanings.end())
        meanings.push_back({std::move(meaning), {op}});
      else
        same->second.push_back(op);
    }
  std::string out = job_key_text(name);
  for (const auto& [meaning, operators] : meanings)
    out += fmt::format("a parameter of {} (under with:): {}\n", joined(operators, ", "), meaning);
  if (!meanings.empty()) out += "\n`flowrun ops NAME` explains an operator with all its parameters\n";
  return out;
}

}  // namespace flowrun::plan
