// A set of bytes as users write it, such as 'a-z0-9_'; a - at its end is one.
#pragma once

#include <string>
#include <string_view>

namespace flowrun::expr {

// 256 bytes: 1 for each byte that is in the set.
std::string byte_set(std::string_view set);

}  // namespace flowrun::expr
