// Operators that other languages have under another name.
#pragma once

#include <string>
#include <string_view>

namespace flowrun::plan {

// What to write here instead: "write filter" for where. Empty for names that are nothing elsewhere.
std::string known_elsewhere(std::string_view op);

}  // namespace flowrun::plan
