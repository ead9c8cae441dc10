#include "cluster/task_failure.h"

#include <fmt/format.h>

#include "cluster/cluster.pb.h"
#include "engine/base/error.h"

namespace flowrun::cluster {

void fail_task(const shared_directory& directory, size_t stage, size_t task, const std::string& otherwise,
               const std::string& hint) {
  const std::string who = fmt::format("task {} of stage {}", task + 1, stage + 1);
  Failure why;
  if (read_message(directory.failed(stage, task), why))
    throw error(static_cast<error_kind>(why.code()), fmt::format("{}: {}", who, why.message()), why.hint());
  throw error(error_kind::resources, fmt::format("{}: {}", who, otherwise), hint);
}

}  // namespace flowrun::cluster
