#include "engine/expr/byte_set.h"

#include <fmt/format.h>

#include "engine/base/excerpt.h"

namespace flowrun::expr {

namespace {

bool is_range(std::string_view set, size_t at) { return at + 2 < set.size() && set[at + 1] == '-'; }
unsigned byte_at(std::string_view set, size_t at) { return static_cast<unsigned char>(set[at]); }

}  // namespace

std::optional<std::string> byte_set_fault(std::string_view set) {
  for (size_t i = 0; i < set.size(); ++i) {
    if (!is_range(set, i)) continue;
    if (byte_at(set, i) > byte_at(set, i + 2))
      return fmt::format("the range {} is backwards", quoted_excerpt(set.substr(i, 3)));
    i += 2;
  }
  return {};
}

std::string byte_set(std::string_view set) {
  std::string table(256, '\0');
  for (size_t i = 0; i < set.size(); ++i) {
    const unsigned low = byte_at(set, i);
    unsigned high = low;
    if (is_range(set, i)) {
      high = byte_at(set, i + 2);
      i += 2;
    }
    for (unsigned c = low; c <= high; ++c) table[c] = 1;
  }
  return table;
}

}  // namespace flowrun::expr
