// Functions that other languages have under another name.
#pragma once

#include <string>
#include <string_view>

#include "engine/expr/parser.h"

namespace flowrun::expr {

// What to write here instead: "write length(text)" for len. Empty for names that are nothing elsewhere.
std::string known_elsewhere(std::string_view function);
// The same of a call that cuts a text and says at which byte: "write cust[0:2], …" for substr(cust, 1, 2).
std::string slice_elsewhere(const syntax& call);
// The same of aggregates: "write avg(x)" for mean.
std::string aggregate_known_elsewhere(std::string_view aggregate);
// The same of words between two values: "write lower(x) like 'a%'" for ilike.
std::string operator_known_elsewhere(std::string_view word);

}  // namespace flowrun::expr
