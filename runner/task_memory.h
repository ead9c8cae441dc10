// Whether the tasks of a job on a cluster can do with the memory of a task, before any of them runs.
#pragma once

#include <cstddef>

#include "cluster/driver.h"
#include "runner/resources.h"

namespace flowrun::runner {

// Plans a task of each stage, as its worker will. `of_task`: what it may use. `at_once`: how many tasks share what the
// command may use. Throws error(bad_spec) where the nodes of a task need more memory than it has. Stages inside of
// loops, `if` and calls are not looked at: how many files they read depends on rows.
void check_task_memory(const cluster::divided_job& job, const resources& of_task, size_t at_once);

}  // namespace flowrun::runner
