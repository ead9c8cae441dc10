// What is wrong with a text that is no JSON, and where. Slow: for messages.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace flowrun::operators {

struct json_fault {
  size_t at = 0;  // the byte where reading ended
  std::string what;
};
// Nothing: it is JSON.
std::optional<json_fault> json_fault_in(std::string_view text);

}  // namespace flowrun::operators
