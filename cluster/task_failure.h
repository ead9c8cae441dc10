// What is told of a task that couldn't be done.
#pragma once

#include <cstddef>
#include <string>

#include "cluster/shared_directory.h"

namespace flowrun::cluster {

// Throws what the task itself has told (Failure), or else error(resources) with `otherwise`.
[[noreturn]] void fail_task(const shared_directory& directory, size_t stage, size_t task, const std::string& otherwise,
                            const std::string& hint = {});

}  // namespace flowrun::cluster
