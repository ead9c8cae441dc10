// A set of bytes as users write it, such as 'a-z0-9_'; a - at its end is one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace flowrun::expr {

// What is wrong with a set: a range whose first byte comes after its last, which would be empty.
std::optional<std::string> byte_set_fault(std::string_view set);
constexpr const char* byte_set_expected = "ranges such as 'a-z'; a - of its own comes first or last";

// 256 bytes: 1 for each byte that is in the set.
std::string byte_set(std::string_view set);

}  // namespace flowrun::expr
