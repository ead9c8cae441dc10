#include "runner/exact_bytes.h"

#include <fmt/format.h>

#include <array>

#include "engine/base/units.h"

namespace flowrun::runner {

std::string exact_bytes(uint64_t num_bytes) {
  struct unit {
    uint64_t num_bytes;
    const char* name;
  };
  static constexpr std::array units = {unit{1024 * GiB, "TiB"},   unit{GiB, "GiB"},      unit{MiB, "MiB"},
                                       unit{1'000'000'000, "GB"}, unit{1'000'000, "MB"}, unit{KiB, "KiB"}};
  for (const unit& u : units)
    if (num_bytes > 0 && num_bytes % u.num_bytes == 0) return fmt::format("{}{}", num_bytes / u.num_bytes, u.name);
  return std::to_string(num_bytes);
}

}  // namespace flowrun::runner
