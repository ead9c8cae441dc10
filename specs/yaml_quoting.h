// A value that YAML ends too early because of its quotes or of a ': ' in it, and how to write it so that it is whole.
//
// Expressions have texts in quotes, and YAML has quotes of its own: where: 'DE' == country is a YAML text, DE, with
// something behind it that can't be.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace flowrun::specs {

struct quoting_fault {
  std::string message;
  std::string hint;
};

// Of the value in which reading stopped at `offset`; `flow`: it stands inside of {…} or […]. Nothing where neither
// quotes nor a ': ' seem to be the cause.
std::optional<quoting_fault> quoting_fault_at(std::string_view text, size_t offset, bool flow);

// The same of an expression without quotes inside of {…}, which YAML ended at a bracket or a comma within one of its
// texts or arguments: where: regex_matches(page, r'^\d{2}$'). Nothing where `offset` is in no such value.
std::optional<std::string> advice_on_expression(std::string_view text, size_t offset);

}  // namespace flowrun::specs
