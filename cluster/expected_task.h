// What is known of tasks before a job runs: how many there will be, and a job like theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cluster/driver.h"
#include "specs/job.pb.h"

namespace flowrun::cluster {

// Of a stage.
struct task_count {
  size_t num_tasks = 1;
  bool at_most = false;  // it depends on rows that aren't there yet
};

// By stage.
std::vector<task_count> task_counts(const divided_job& job);

// How many files of earlier stages have the rows of an input. Where that isn't known, one.
size_t num_files(const divided_job& job, const stage_input& in);

// The first task of a stage, with as many files to read as earlier stages will write. There are no such files: it can
// be checked and planned, and not run. Where a control node is the stage, it runs the whole of it.
specs::JobSpec expected_task(const divided_job& job, size_t stage);

// Whether the control node that is the stage will run as stages of its own (driver_settings::least_divided_bytes).
// Nothing where that depends on rows that aren't there yet.
std::optional<bool> runs_as_stages(const divided_job& job, size_t stage, uint64_t least_divided_bytes);

}  // namespace flowrun::cluster
