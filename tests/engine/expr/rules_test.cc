// Every example that the reference page prints.
#include "engine/expr/rules.h"

#include <gtest/gtest.h>

#include "tests/engine/expr/program_harness.h"

namespace flowrun::expr {
namespace {

// A row of the example columns, computed from their texts.
record::batch example_row(const record::row_type& type) {
  testing::row row;
  for (const example_column& c : example_columns()) {
    const std::string value(c.value);
    row.push_back(testing::evaluate_constant(c.type == "string"       ? "'" + value + "'"
                                             : c.type == "decimal[2]" ? "to_decimal('" + value + "', 2)"
                                                                      : value));
  }
  return testing::pack(type, {row});
}

record::row_type example_type() {
  std::vector<std::pair<std::string, std::string>> columns;
  for (const example_column& c : example_columns()) columns.emplace_back(c.name, c.type);
  return testing::type_of(columns);
}

TEST(value_rules, have_examples_that_are_true) {
  const record::row_type type = example_type();
  const record::batch row = example_row(type);
  for (const value_rule& rule : value_rules()) {
    EXPECT_FALSE(rule.examples.empty()) << rule.title;
    for (const rule_example& e : rule.examples) {
      const std::string text(e.text);
      const compiled c = compile(text, scope{.row = &type});
      if (e.type.empty()) {
        ASSERT_FALSE(c.value.has_value()) << text;
        EXPECT_EQ(c.problems.at(0).message, e.value) << text;
        continue;
      }
      ASSERT_TRUE(c.value.has_value()) << text << ": " << c.problems.at(0).message;
      EXPECT_EQ(to_string(c.value->type()), e.type) << text;
      const testing::cell value = testing::evaluate_rows("string(" + text + ")", type, row).at(0);
      EXPECT_EQ(std::get<std::string>(value), e.value) << text;
    }
  }
}

}  // namespace
}  // namespace flowrun::expr
