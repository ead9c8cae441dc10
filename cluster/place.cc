#include <fmt/format.h>

#include <string_view>

#include "cluster/scheduler.h"
#include "engine/base/error.h"
#include "specs/value.h"

namespace flowrun::cluster {

place place_of(const std::string& text) {
  constexpr std::string_view local = "local:", spark = "spark://";
  if (text.starts_with(local)) {
    const auto width = specs::to_uint(std::string_view(text).substr(local.size()));
    if (width && *width >= 1 && *width <= 1000) return {static_cast<size_t>(*width), {}};
  }
  if (text.starts_with(spark) && text.size() > spark.size()) return {0, text};
  throw error(error_kind::usage, fmt::format("--cluster '{}' is no cluster", text),
              "local:N, with N tasks at once on this machine, from 1 to 1000; or spark://HOST:7077");
}

}  // namespace flowrun::cluster
