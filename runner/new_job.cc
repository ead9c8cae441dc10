#include "runner/new_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/base/error.h"
#include "engine/base/fault.h"
#include "specs/source_text.h"
#include "specs/value.h"
#include "specs/yaml_tree.h"
#include "specs/yaml_writer.h"

namespace flowrun::runner {

namespace {

using plan::operator_declaration;
using plan::parameter_declaration;
using plan::parameter_kind;
using specs::Value;

constexpr const char* example_chain = "flowrun new file.read_csv/sort/file.write_csv";

struct link {
  const operator_declaration* op = nullptr;
  std::string id;
  Value with;  // a map
};

void put(Value& map, const std::string& key, Value value) {
  specs::Entry& entry = *map.mutable_map()->add_entries();
  entry.set_key(key);
  *entry.mutable_value() = std::move(value);
}

Value text_value(const std::string& text) {
  Value out;
  out.mutable_scalar()->set_text(text);
  return out;
}

std::vector<std::string> parts_of(const std::string& chain) {
  std::vector<std::string> out(1);
  for (char c : chain) {
    if (c == '/')
      out.emplace_back();
    else if (c != ' ')
      out.back() += c;
  }
  return out;
}

// Refuses what can't stand at its place in a chain.
void check_place(const operator_declaration& op, size_t at, size_t count) {
  const auto refuse = [&op](std::string message, std::string hint) {
    throw error(error_kind::usage, "'" + op.name + "' " + std::move(message), std::move(hint));
  };
  const std::string by_hand = "write the node by hand; flowrun ops " + op.name + " has an example";
  if (at == 0) {
    if (!op.inputs.empty())
      refuse("reads rows, and nothing is before it", "begin with a source, such as file.read_csv");
  } else if (op.inputs.empty()) {
    refuse("reads no other node", "it can only be the first of the chain");
  } else if (op.inputs.size() > 1 || op.any_number_of_inputs || op.inputs_by_name) {
    std::vector<std::string> names;
    for (const plan::port_declaration& port : op.inputs) names.push_back(port.name);
    refuse(op.inputs.size() > 1 ? "reads several inputs (" + joined(names, ", ") + "): a chain gives it one"
                                : "reads any number of inputs: a chain gives it one",
           by_hand);
  }
  if (op.role == plan::operator_role::control) refuse("runs graphs of its own, which a chain can't say", by_hand);
  const bool last = at + 1 == count;
  if (!last && op.outputs_from_parameters) refuse("has several outputs: a chain reads one", by_hand);
  if (!last && op.outputs.empty())
    refuse("writes, and gives no rows to the next", "it can only be the last of the chain");
  if (last && !op.outputs.empty() && !op.output_optional)
    refuse("gives rows that nothing reads", "end with a sink, such as file.write_csv");
}

std::vector<link> links_of(const std::string& chain, const plan::vocabulary& catalog) {
  const std::vector<std::string> names = parts_of(chain);
  std::vector<link> out;
  std::set<std::string> taken;
  for (size_t i = 0; i < names.size(); ++i) {
    const operator_declaration* op = catalog.find(names[i]);
    if (op == nullptr) {
      const std::string meant = did_you_mean(names[i], catalog.names());
      throw error(error_kind::usage,
                  names[i].empty() ? "a part of the chain is empty" : "there is no operator '" + names[i] + "'",
                  !meant.empty()     ? meant
                  : names[i].empty() ? example_chain
                                     : "flowrun ops lists them");
    }
    check_place(*op, i, names.size());
    const std::string base = op->name.substr(op->name.rfind('.') + 1);
    std::string id = base;
    for (int number = 2; !taken.insert(id).second; ++number) id = fmt::format("{}_{}", base, number);
    out.push_back({op, id, {}});
  }
  return out;
}

// `with:` of the first node of the declaration's example that is of this operator.
Value example_of(const operator_declaration& op) {
  const specs::source_text source(op.example);
  specs::fault_sink faults("example");
  const std::optional<Value> nodes = specs::read_yaml(source, faults);
  if (!nodes || !is_map(*nodes)) return {};
  for (const specs::Entry& node : nodes->map().entries()) {
    const Value* name = specs::find(node.value(), "op");
    const Value* with = specs::find(node.value(), "with");
    if (name != nullptr && specs::text(*name) == op.name) return with == nullptr ? Value{} : *with;
  }
  return {};
}

// A value of the kind over any rows that have this column.
std::optional<Value> value_over(const parameter_declaration& p, const std::string& column) {
  Value out;
  switch (p.kind) {
    case parameter_kind::columns:
    case parameter_kind::sort_keys:
    case parameter_kind::named_sort_keys: *out.mutable_list()->add_items() = text_value(column); return out;
    case parameter_kind::expression: return text_value(column);
    case parameter_kind::condition: return text_value("row_number < 10");
    case parameter_kind::named_expressions: put(out, column, text_value(column)); return out;
    case parameter_kind::aggregates: put(out, "rows", text_value("count()")); return out;
    case parameter_kind::named_columns: {
      Value columns;
      *columns.mutable_list()->add_items() = text_value(column);
      put(out, "rank", std::move(columns));
      return out;
    }
    default: return std::nullopt;
  }
}

// What may stand under `with:`, the best first.
std::vector<Value> candidates(const operator_declaration& op, const std::vector<std::string>& columns) {
  const Value example = example_of(op);
  std::vector<Value> out;
  const auto add = [&](const std::string* column) {
    Value with;
    with.mutable_map();
    for (const parameter_declaration& p : op.parameters) {
      const Value* shown = specs::find(example, p.name);
      std::optional<Value> value = column == nullptr ? std::nullopt : value_over(p, *column);
      if (!value && shown != nullptr) value = *shown;
      if (p.required && value) put(with, p.name, std::move(*value));
    }
    if (op.free_columns) {
      if (column != nullptr)
        put(with, *column, text_value(*column));
      else
        with = example;
    }
    out.push_back(std::move(with));
  };
  add(nullptr);
  for (const std::string& column : columns) add(&column);
  out.push_back(example);  // all of it, for operators that need one of several parameters
  return out;
}

std::string indented(const std::string& text, const std::string& by) {
  std::string out;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    out += by + text.substr(start, end - start) + "\n";
    start = end + 1;
  }
  return out;
}

// The help as a comment of lines that fit a screen.
std::string comment(const std::string& help, const std::string& indent) {
  constexpr size_t width = 100;
  std::string out, line;
  for (size_t start = 0; start < help.size();) {
    const size_t end = std::min(help.find_first_of(" \n", start), help.size());
    if (!line.empty() && line.size() + 1 + end - start > width) {
      out += indent + "# " + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + help.substr(start, end - start);
    start = end + 1;
  }
  return line.empty() ? out : out + indent + "# " + line + "\n";
}

std::string node_text(const link& of, const std::string& input, bool commented) {
  std::string out = fmt::format("  {}:\n    op: {}\n", of.id, of.op->name);
  if (commented) out = comment(of.op->summary, "  ") + out;
  if (!input.empty()) out += "    in: " + input + "\n";
  if (!is_map(of.with) || of.with.map().entries().empty()) return out;
  out += "    with:\n";
  for (const specs::Entry& entry : of.with.map().entries()) {
    const auto p = std::find_if(of.op->parameters.begin(), of.op->parameters.end(),
                                [&entry](const auto& each) { return each.name == entry.key(); });
    if (commented && p != of.op->parameters.end()) out += comment(p->help, "      ");
    Value alone;
    put(alone, entry.key(), entry.value());
    out += indented(specs::write_yaml(alone, specs::dollars::doubled), "      ");
  }
  return out;
}

std::string job_text(const std::vector<link>& links, size_t count, bool commented) {
  std::string out = "flowrun: 1\nnodes:\n";
  for (size_t i = 0; i < count; ++i) {
    if (commented && i > 0) out += "\n";
    out += node_text(links[i], i == 0 ? "" : links[i - 1].id, commented);
  }
  return out;
}

}  // namespace

std::string new_job(const std::string& chain, const plan::vocabulary& catalog, const job_checker& check) {
  std::vector<link> links = links_of(chain, catalog);
  // What is not the end yet is read by something that takes any rows.
  const std::string end_id = "end_of_what_is_there";
  std::vector<std::string> columns;
  for (size_t i = 0; i < links.size(); ++i) {
    std::vector<fault> first;
    bool found = false;
    for (Value& with : candidates(*links[i].op, columns)) {
      links[i].with = std::move(with);
      std::string text = job_text(links, i + 1, false);
      if (i + 1 < links.size())
        text += fmt::format("  {}: {{op: file.write_csv, in: {}, with: {{path: out/end.csv}}}}\n", end_id, links[i].id);
      plan::check_result checked = check(text);
      if (checked.faults.empty()) {
        columns.clear();
        for (const plan::node& node : checked.checked.nodes)
          if (node.id == links[i].id && !node.outputs.empty())
            for (size_t c = 0; c < node.outputs[0].type.num_columns(); ++c)
              columns.push_back(node.outputs[0].type[c].name);
        found = true;
        break;
      }
      if (first.empty()) first = std::move(checked.faults);
    }
    if (!found)
      throw error(error_kind::usage,
                  fmt::format("no settings were found for '{}' that fit the rows before it: {}", links[i].op->name,
                              first.empty() ? "" : first.front().message),
                  "write the node by hand; flowrun ops " + links[i].op->name + " has an example");
  }
  return fmt::format("# flowrun new {}\n# flowrun ops NAME says what else an operator takes.\n", chain) +
         job_text(links, links.size(), true);
}

}  // namespace flowrun::runner
