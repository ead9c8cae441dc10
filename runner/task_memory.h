// Whether the tasks of a job on a cluster can do with the memory of a task, before any of them runs.
#pragma once

#include <cstddef>

#include "cluster/driver.h"
#include "runner/resources.h"

namespace flowrun::runner {

// What the tasks of a job may use.
struct task_share {
  resources of_task;
  size_t at_once = 1;                                                 // so many share the command's -m
  uint64_t least_divided_bytes = cluster::usual_least_divided_bytes;  // cluster::driver_settings
};

// Plans a task of each stage, as its worker will. Throws error(bad_spec) where the nodes of a task need more memory
// than it has, about the stage that needs most. Of loops, `if` and calls it looks at the whole or at the stages inside,
// where it is known which of them will run. How many files the stages inside read depends on rows: each is taken to
// read one, and may need more when it runs.
void check_task_memory(const cluster::divided_job& job, const task_share& share);

}  // namespace flowrun::runner
