#include "engine/expr/byte_set.h"

namespace flowrun::expr {

std::string byte_set(std::string_view set) {
  std::string table(256, '\0');
  for (size_t i = 0; i < set.size(); ++i) {
    const auto low = static_cast<unsigned char>(set[i]);
    auto high = low;
    if (i + 2 < set.size() && set[i + 1] == '-') {
      high = static_cast<unsigned char>(set[i + 2]);
      i += 2;
    }
    for (unsigned c = low; c <= high; ++c) table[c] = 1;
  }
  return table;
}

}  // namespace flowrun::expr
