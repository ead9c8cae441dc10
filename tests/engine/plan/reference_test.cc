#include "engine/plan/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/plan/schema_json.h"
#include "tests/engine/plan/toy_operators.h"

namespace flowrun::plan {
namespace {

using ::testing::HasSubstr;

TEST(Schema, HasEveryOperatorAndParameter) {
  const toy_operators toys;
  const nlohmann::json schema = nlohmann::json::parse(schema_json(toys.catalog()));
  EXPECT_EQ(schema["properties"]["flowrun"]["const"], 1);
  EXPECT_EQ(schema["required"], (nlohmann::json{"flowrun", "nodes"}));
  const nlohmann::json& rules = schema["definitions"]["node"]["allOf"];
  ASSERT_EQ(rules.size(), toys.catalog().names().size());
  for (const nlohmann::json& rule : rules) {
    const operator_declaration* d = toys.catalog().find(rule["if"]["properties"]["op"]["const"]);
    ASSERT_NE(d, nullptr);
    const nlohmann::json& with = rule["then"]["properties"]["with"];
    for (const parameter_declaration& p : d->parameters) {
      ASSERT_TRUE(with["properties"].contains(p.name)) << d->name << " " << p.name;
      EXPECT_THAT(with["properties"][p.name]["description"].get<std::string>(), HasSubstr(p.help));
    }
    EXPECT_EQ(with["additionalProperties"] == false, !d->free_columns);
  }
}

// Every "$ref" leads to a definition.
void expect_references(const nlohmann::json& part, const nlohmann::json& schema) {
  if (part.is_object() && part.contains("$ref")) {
    const std::string target = part["$ref"];
    EXPECT_TRUE(schema["definitions"].contains(target.substr(std::string("#/definitions/").size()))) << target;
  }
  if (part.is_structured())
    for (const auto& [key, value] : part.items()) expect_references(value, schema);
}

TEST(Schema, GraphsHaveNodesOfTheirOwn) {
  const toy_operators toys;
  const nlohmann::json schema = nlohmann::json::parse(schema_json(toys.catalog()));
  EXPECT_EQ(schema["properties"]["nodes"]["$ref"], "#/definitions/nodes");
  EXPECT_EQ(schema["properties"]["graphs"]["additionalProperties"]["$ref"], "#/definitions/graph");
  EXPECT_EQ(schema["definitions"]["graph"]["properties"]["nodes"]["$ref"], "#/definitions/nodes");
  EXPECT_EQ(schema["definitions"]["nodes"]["additionalProperties"]["$ref"], "#/definitions/node");
}

TEST(Schema, ReferencesLeadSomewhere) {
  const toy_operators toys;
  const nlohmann::json schema = nlohmann::json::parse(schema_json(toys.catalog()));
  expect_references(schema, schema);
}

TEST(Reference, Markdown) {
  const toy_operators toys;
  const std::string text = reference_markdown(toys.catalog());
  EXPECT_THAT(
      text, HasSubstr("### sort\n\na toy\n\n- Inputs: one\n- Outputs: out\n- Order: gives: by\n- Breaks the pipeline"));
  EXPECT_THAT(text, HasSubstr("| `by` | a list of keys, such as [src, -dst] | required | the keys \\| signs |"));
  EXPECT_THAT(text, HasSubstr("| `memory` | a size, such as 64MiB | `1MiB` | the least |"));
  EXPECT_THAT(text, HasSubstr("```yaml\nsorted: {op: sort"));
  EXPECT_THAT(text, HasSubstr("hash64"));
  EXPECT_TRUE(text.ends_with("\n"));
}

TEST(Reference, Usage) {
  const toy_operators toys;
  const std::string text = usage_text(*toys.catalog().find("sort"));
  EXPECT_THAT(text, HasSubstr("sort: a toy\n"));
  EXPECT_THAT(text, HasSubstr("  by      a list of keys, such as [src, -dst]; required\n"));
  EXPECT_THAT(text, HasSubstr("  memory  a size, such as 64MiB; default 1MiB\n"));
  EXPECT_THAT(operator_list(toys.catalog()), HasSubstr("zip     a toy\n"));
}

}  // namespace
}  // namespace flowrun::plan
