// Operators and parameters that other languages have under another name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flowrun::plan {

// What to write here instead: "write filter" for where. Empty for names that are nothing elsewhere.
std::string known_elsewhere(std::string_view op);

// What a parameter is called here that others call `name`, of an operator with these `parameters`: "here it is called
// 'delimiter'" for sep.
std::string parameter_known_elsewhere(std::string_view name, const std::vector<std::string>& parameters);

}  // namespace flowrun::plan
