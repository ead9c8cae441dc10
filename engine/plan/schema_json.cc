#include "engine/plan/schema_json.h"

#include <nlohmann/json.hpp>

#include "engine/plan/parameter_shape.h"
#include "engine/record/value_type.h"
#include "specs/parameters.h"
#include "specs/resource_reader.h"

namespace flowrun::plan {

namespace {

using json = nlohmann::ordered_json;

json reference(const char* name) { return {{"$ref", std::string("#/definitions/") + name}}; }

json closed_map(json properties, std::vector<std::string> required = {}) {
  json out = {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!required.empty()) out["required"] = required;
  return out;
}

json map_of(json values, const char* names = nullptr) {
  json out = {{"type", "object"}, {"additionalProperties", std::move(values)}};
  if (names) out["propertyNames"] = {{"pattern", names}};
  return out;
}

json list_of(json items) { return {{"type", "array"}, {"items", std::move(items)}}; }
json one_or_list(const json& item) { return {{"anyOf", {item, list_of(item)}}}; }

constexpr const char* id_pattern = "^[A-Za-z_][A-Za-z0-9_-]*$";
constexpr const char* column_pattern = "^[A-Za-z_][A-Za-z0-9_]*$";

// Wherever a number stands, a parameter may stand as well: "${limit}".
json with_parameter(json plain) {
  return {{"anyOf", {std::move(plain), json{{"type", "string"}, {"pattern", "\\$\\{"}}}}};
}

json definitions() {
  json out;
  out["text"] = {{"type", {"string", "number", "boolean"}}};
  out["expression"] = {{"type", {"string", "number", "boolean"}},
                       {"description", "a row expression, such as \"src + 1\""}};
  out["bytes"] = {{"anyOf",
                   {json{{"type", "integer"}, {"minimum", 0}},
                    json{{"type", "string"}, {"pattern", "^[0-9.]+ *([kKMGTP](i?B?)?|B)?$|\\$\\{"}}}},
                  {"description", "a size, such as 64MiB"}};
  out["integer"] = with_parameter({{"type", "integer"}, {"minimum", 0}});
  out["integer"]["anyOf"].push_back({{"type", "string"}, {"pattern", "^(0x[0-9a-fA-F]+|0o[0-7]+|[0-9]+)$"}});
  out["number"] = with_parameter({{"type", "number"}});
  out["boolean"] = with_parameter({{"type", "boolean"}});
  out["value_type"] = {{"anyOf",
                        {json{{"enum",
                               {"u8", "u16", "u24", "u32", "u40", "u48", "u64", "i8", "i16", "i32", "i64", "f32", "f64",
                                "bool", "string", "date", "timestamp"}}},
                         json{{"type", "string"}, {"pattern", "^(bytes|decimal)\\[[0-9]+\\]$|\\$\\{"}}}},
                       {"description", std::string(record::value_type_names())}};
  out["row_type"] = map_of(reference("value_type"), column_pattern);
  out["row_type"]["minProperties"] = 1;
  json rows = closed_map({{"rows", list_of(map_of(reference("expression"), column_pattern))},
                          {"type", {{"anyOf", {json{{"type", "string"}}, reference("row_type")}}}},
                          {"sorted_by", one_or_list({{"type", "string"}})}},
                         {"rows"});
  json from = closed_map({{"from", {{"type", "string"}}}, {"sorted_by", one_or_list({{"type", "string"}})}}, {"from"});
  json value = closed_map({{"value", reference("expression")}}, {"value"});
  out["carried"] = {{"anyOf", {rows, from, value}},
                    {"description", "what the first iteration starts with: rows, an input of the loop, or a number"}};
  out["endpoint"] = {{"type", "string"},
                     {"pattern", "^[A-Za-z_][A-Za-z0-9_-]*(\\.[A-Za-z_][A-Za-z0-9_-]*)?$|\\$\\{"},
                     {"description", "a node, or node.port"}};
  return out;
}

json parameter_schema(const parameter_declaration& p) {
  const json expression = reference("expression"), text = reference("text");
  json out;
  switch (p.kind) {
    case parameter_kind::text: out = text; break;
    case parameter_kind::path: out = {{"type", "string"}, {"minLength", 1}}; break;
    case parameter_kind::paths: out = one_or_list({{"type", "string"}, {"minLength", 1}}); break;
    case parameter_kind::integer: out = reference("integer"); break;
    case parameter_kind::bytes: out = reference("bytes"); break;
    case parameter_kind::number: out = reference("number"); break;
    case parameter_kind::boolean: out = reference("boolean"); break;
    case parameter_kind::choice: out = with_parameter({{"enum", p.choices}}); break;
    case parameter_kind::row_type: out = {{"anyOf", {json{{"type", "string"}}, reference("row_type")}}}; break;
    case parameter_kind::columns: out = one_or_list({{"type", "string"}}); break;
    case parameter_kind::column_pairs:
      out = {{"anyOf", {json{{"type", "string"}}, list_of({{"type", "string"}}), map_of({{"type", "string"}})}}};
      break;
    case parameter_kind::sort_keys: out = one_or_list(text); break;
    case parameter_kind::named_sort_keys: out = one_or_list({{"anyOf", {text, map_of(text, column_pattern)}}}); break;
    case parameter_kind::expression:
    case parameter_kind::condition: out = expression; break;
    case parameter_kind::named_expressions: out = map_of(expression, column_pattern); break;
    case parameter_kind::named_conditions: out = map_of(expression, id_pattern); break;
    case parameter_kind::aggregates: out = map_of({{"type", "string"}}, column_pattern); break;
    case parameter_kind::named_columns: out = map_of(one_or_list({{"type", "string"}}), column_pattern); break;
    case parameter_kind::new_names: out = map_of({{"type", "string"}}, column_pattern); break;
    case parameter_kind::expression_rows: out = list_of(map_of(expression, column_pattern)); break;
    case parameter_kind::nodes: out = map_of(reference("node"), id_pattern); break;
    case parameter_kind::carried: out = map_of(reference("carried"), id_pattern); break;
    case parameter_kind::new_column:
      out = {{"type", "string"}, {"pattern", std::string(column_pattern) + "|\\$\\{"}};
      break;
    case parameter_kind::texts_by_name: out = map_of(expression, id_pattern); break;
    case parameter_kind::texts: out = one_or_list(text); break;
    case parameter_kind::column_texts: out = map_of(text, column_pattern); break;
    case parameter_kind::rules: {
      const json columns = map_of(expression, column_pattern), name = {{"type", "string"}};
      out = list_of(closed_map({{"from", name},
                                {"when", expression},
                                {"set", columns},
                                {"push", columns},
                                {"emit", columns},
                                {"to", name}}));
      break;
    }
  }
  std::string help = p.help.empty() ? describe(p) : p.help;
  if (!p.default_text.empty()) help += " (default: " + p.default_text + ")";
  // draft-07 ignores what stands beside $ref.
  if (out.contains("$ref")) out = {{"allOf", {out}}};
  out["description"] = help;
  return out;
}

// What `with:` and `in:` of this operator look like.
json operator_schema(const operator_declaration& d) {
  json properties = json::object();
  std::vector<std::string> required;
  for (const parameter_declaration& p : d.parameters) {
    properties[p.name] = parameter_schema(p);
    if (p.required) required.push_back(p.name);
  }
  json with = closed_map(std::move(properties), required);
  if (d.free_columns) with["additionalProperties"] = reference("expression");
  json node = {{"properties", {{"with", with}}}};
  std::vector<std::string> node_required;
  if (!required.empty()) node_required.push_back("with");
  if (d.inputs.empty()) {
    node["properties"]["in"] = false;
  } else if (d.inputs_by_name) {
    node["properties"]["in"] = {
        {"anyOf", {one_or_list(reference("endpoint")), map_of(reference("endpoint"), id_pattern)}}};
  } else {
    node_required.push_back("in");
    if (d.any_number_of_inputs) {
      node["properties"]["in"] = one_or_list(reference("endpoint"));
    } else if (d.inputs.size() == 1) {
      node["properties"]["in"] = reference("endpoint");
    } else {
      json ports = json::object();
      std::vector<std::string> names;
      for (const port_declaration& port : d.inputs) {
        ports[port.name] = {{"allOf", {reference("endpoint")}}, {"description", port.help}};
        names.push_back(port.name);
      }
      node["properties"]["in"] = closed_map(ports, names);
    }
  }
  if (!d.has_error_port) node["properties"]["on_error"] = false;
  if (!node_required.empty()) node["required"] = node_required;
  return node;
}

json node_schema(const vocabulary& catalog) {
  json operators = json::array(), rules = json::array();
  for (const std::string& name : catalog.names()) {
    const operator_declaration& d = *catalog.find(name);
    operators.push_back({{"const", name}, {"description", d.summary}});
    rules.push_back(
        {{"if", {{"properties", {{"op", {{"const", name}}}}}, {"required", {"op"}}}}, {"then", operator_schema(d)}});
  }
  const json ratio = {{"type", "number"}, {"minimum", 0}, {"maximum", 1}};
  json out =
      closed_map({{"op", {{"description", "the operator"}, {"oneOf", operators}}},
                  {"in", {{"description", "what it reads: a node, node.port, a map of named inputs, or a list"}}},
                  {"scalars",
                   {{"description", "streams of one row, whose values expressions name: NAME.column"},
                    {"anyOf", {one_or_list(reference("endpoint")), map_of(reference("endpoint"), id_pattern)}}}},
                  {"with", {{"type", "object"}, {"description", "the operator's parameters"}}},
                  {"on_error",
                   {{"description", "where rejected rows go: skip, fail, or a port"},
                    {"anyOf",
                     {json{{"type", "string"}},
                      closed_map({{"to", {{"type", "string"}}}, {"max_ratio", with_parameter(ratio)}}, {"to"})}}}},
                  {"doc", {{"type", "string"}}}},
                 {"op"});
  out["allOf"] = rules;
  return out;
}

// A graph under `graphs:`.
json graph_schema() {
  const json type = {{"anyOf", {json{{"type", "string"}}, reference("row_type")}}};
  json in = map_of(type, id_pattern);
  in["description"] = "what callers give, by name: any, or a row type";
  const json output = {{"anyOf",
                        {reference("endpoint"), closed_map({{"from", reference("endpoint")}, {"type", type}},
                                                           std::vector<std::string>{"from"})}}};
  const json out = {{"description", "what callers get: a node, or {port: node}"},
                    {"anyOf", {reference("endpoint"), map_of(output, id_pattern)}}};
  json scalars = map_of(closed_map({{"type", {{"enum", {"int", "float", "bool"}}}},
                                    {"default", reference("text")},
                                    {"help", {{"type", "string"}}}},
                                   {"type"}),
                        column_pattern);
  scalars["description"] = "numbers that callers give; expressions use them by name";
  return closed_map(
      {{"doc", {{"type", "string"}}}, {"in", in}, {"out", out}, {"scalars", scalars}, {"nodes", reference("nodes")}},
      {"out", "nodes"});
}

// A case under `tests:` (flowrun test).
json test_schema() {
  json given = map_of({{"type", {"array", "string", "number", "boolean"}}}, id_pattern);
  given["description"] = "the rows that a source gives instead of its file";
  json expect = map_of(json::object());
  expect["description"] = "what outputs hold, {NODE: [row, …]}, and what nodes report, {NODE.name: value}";
  return closed_map({{"name", {{"type", "string"}}},
                     {"params", map_of(reference("text"), id_pattern)},
                     {"given", given},
                     {"expect", expect},
                     {"fails", {{"type", "string"}, {"description", "part of the message that the job fails with"}}},
                     {"once", {{"type", "boolean"}, {"description", "don't run it again with tiny blocks"}}}});
}

json param_schema() {
  json names = json::array();
  for (const specs::param_type_help& type : specs::param_types()) names.push_back(type.name);
  return closed_map({{"type", {{"enum", names}}},
                     {"required", {{"type", "boolean"}}},
                     {"default", reference("text")},
                     {"values", list_of({{"type", "string"}})},
                     {"min", reference("text")},
                     {"max", reference("text")},
                     {"help", {{"type", "string"}}}},
                    {"type"});
}

json resources_schema() {
  const json directory = closed_map({{"path", {{"type", "string"}}},
                                     {"limit", reference("bytes")},
                                     {"weight", with_parameter({{"type", "number"}, {"exclusiveMinimum", 0}})}},
                                    {"path"});
  const json one = {{"anyOf", {json{{"type", "string"}}, directory}}};
  json out = closed_map(
      {{"memory", {{"description", "bytes, or a share of the machine such as 50%"}, {"type", {"string", "integer"}}}},
       {"threads", reference("integer")},
       {"scratch",
        {{"description", "directories for sorted runs; used in parallel"},
         {"anyOf", {json{{"type", "string"}}, list_of(one)}}}},
       {"scratch_limit", reference("bytes")},
       {"block_size", reference("bytes")},
       {"depth", reference("integer")},
       {"allocation", with_parameter({{"enum", specs::allocation_names()}})},
       {"io_order", with_parameter({{"enum", specs::io_order_names()}})}});
  out["description"] = "what the job may use; the command line wins";
  return out;
}

}  // namespace

std::string schema_json(const vocabulary& catalog) {
  json types = map_of(reference("row_type"), id_pattern);
  types["description"] = "row types by name: {column: type}";
  json params = map_of(param_schema(), id_pattern);
  params["description"] = "parameters of the job: ${name} in the text, -p name=value on the command line";
  json verify = {{"type", "boolean"}};
  verify["description"] =
      "check that all sorts (without it: those of rows without strings) lose, add and change no row, and their order; "
      "the command line wins";
  json plugins = list_of({{"type", "string"}, {"pattern", "^[a-z][a-z0-9_]*$"}});
  plugins["description"] = "plugins that the job needs, by name";
  json nodes = map_of(reference("node"), id_pattern);
  nodes["minProperties"] = 1;
  nodes["description"] = "the nodes of the dataflow, by id";
  json graphs = map_of(reference("graph"), id_pattern);
  graphs["description"] = "named graphs, which call runs";
  json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", "Flowrun job, version 1"}};
  schema.update(closed_map({{"flowrun", {{"const", 1}, {"description", "version of the job language"}}},
                            {"name", {{"type", "string"}}},
                            {"doc", {{"type", "string"}}},
                            {"verify", verify},
                            {"plugins", plugins},
                            {"params", params},
                            {"resources", resources_schema()},
                            {"types", types},
                            {"nodes", reference("nodes")},
                            {"graphs", graphs},
                            {"tests", list_of(reference("test"))}},
                           {"flowrun", "nodes"}));
  schema["definitions"] = definitions();
  schema["definitions"]["node"] = node_schema(catalog);
  schema["definitions"]["nodes"] = nodes;
  schema["definitions"]["graph"] = graph_schema();
  schema["definitions"]["test"] = test_schema();
  return schema.dump(2) + "\n";
}

}  // namespace flowrun::plan
