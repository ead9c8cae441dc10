#include <fmt/format.h>

#include <string_view>

#include "cluster/scheduler.h"
#include "engine/base/error.h"
#include "specs/value.h"

namespace flowrun::cluster {

namespace {

// HOST:PORT, or several with commas between them, as Spark takes them. Without a look at it here, Spark and Dask say
// what is wrong with it when they have started.
bool is_address(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const auto port = specs::to_uint(text.substr(colon + 1));
  return port && *port >= 1 && *port <= 65535;
}

}  // namespace

place place_of(const std::string& text) {
  constexpr std::string_view local = "local:", spark = "spark://", dask = "dask://";
  if (text.starts_with(local)) {
    const auto width = specs::to_uint(std::string_view(text).substr(local.size()));
    if (width && *width >= 1 && *width <= 1000) return {engine_kind::local, static_cast<size_t>(*width), {}};
  }
  if (text.starts_with(spark) && is_address(std::string_view(text).substr(spark.size())))
    return {engine_kind::spark, 0, text};
  if (text.starts_with(dask) && is_address(std::string_view(text).substr(dask.size())))
    return {engine_kind::dask, 0, text};
  throw error(error_kind::usage, fmt::format("--cluster '{}' is no cluster", text),
              "local:N, with N tasks at once on this machine, from 1 to 1000; spark://HOST:7077; or dask://HOST:8786");
}

double seconds_to_stop(const place& where) {
  // Less than a second, with what the driver itself has to do (interrupts.h), or what a message to other machines and
  // back may take.
  return where.engine == engine_kind::local ? 0.9 : 8;
}

std::unique_ptr<scheduler> tasks_at(const place& where, const std::vector<std::string>& program,
                                    const std::string& directory, const std::vector<std::string>& options) {
  switch (where.engine) {
    case engine_kind::spark: return tasks_on_spark(where.address, program, directory, options);
    case engine_kind::dask: return tasks_on_dask(where.address, program, directory, options);
    case engine_kind::local: break;
  }
  return local_pool(where.local_width, program, directory, options);
}

}  // namespace flowrun::cluster
