// The rules of values, as the reference page prints them: types of literals, mixed signs, wrap-around, conversions,
// division, floats, random numbers. Each example is run by a test.
#pragma once

#include <string_view>
#include <vector>

namespace flowrun::expr {

struct rule_example {
  std::string_view text;
  std::string_view type;   // empty: a fault
  std::string_view value;  // as string() writes it; the message of a fault
};

struct value_rule {
  std::string_view title;
  std::string_view text;
  std::vector<rule_example> examples;
};

const std::vector<value_rule>& value_rules();

// The columns of the examples: name, type, value.
struct example_column {
  std::string_view name, type, value;
};
const std::vector<example_column>& example_columns();

}  // namespace flowrun::expr
