// Texts on both sides of the border.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "plugin/include/flowrun/plugin.h"

namespace flowrun::plugins {

inline fr_text as_text(std::string_view text) { return {text.size(), text.data()}; }
inline std::string as_string(fr_text text) {
  return text.size == 0 || text.data == nullptr ? std::string() : std::string(text.data, text.size);
}
// For people and reports: what is no UTF-8, and control characters, become ?.
std::string as_shown(fr_text text);

// A table as this side knows it: what the plugin doesn't know of is zero. Its first member is its size.
template <class Table>
Table known_part(const Table& given) {
  Table out{};
  std::memcpy(&out, &given, std::min(given.size, sizeof out));
  return out;
}

}  // namespace flowrun::plugins
