// How many of what there are, as messages say it.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/units.h"

namespace flowrun {

// "1 row", "12,345 rows". `word`: of one; its plural ends in s.
inline std::string counted(uint64_t count, std::string_view word) {
  return fmt::format("{} {}{}", format_count(count), word, count == 1 ? "" : "s");
}

}  // namespace flowrun
