// What is told of a task that couldn't be done.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cluster/shared_directory.h"
#include "engine/base/error.h"

namespace flowrun::cluster {

// Where the task has left nothing in the directory, as on a machine that doesn't see it.
struct other_words {
  error_kind kind = error_kind::resources;
  std::string host;  // empty: this machine
  std::string message, hint;
};
// Of what a worker has said on standard error, the error and its help.
other_words words_of_worker(std::string_view said);

// Throws what the task itself has told (Failure), or else the other words.
[[noreturn]] void fail_task(const shared_directory& directory, size_t stage, size_t task, const other_words& otherwise);

}  // namespace flowrun::cluster
