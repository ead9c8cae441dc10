// What a job may use on this machine: memory, threads, scratch directories.
//
// Each is decided by itself, by the first of these that says something: the command line, the job's resources:, the
// machine's configuration ($XDG_CONFIG_HOME/flowrun/config.yaml, else /etc/flowrun.yaml), the defaults: half of
// min(RAM, cgroup limit), the usable cores, $XDG_CACHE_HOME/flowrun (without a home directory $TMPDIR, else /var/tmp).
#pragma once

#include <string>
#include <vector>

#include "engine/block/block_manager.h"
#include "engine/plan/physical_plan.h"
#include "runner/machine_configuration.h"
#include "runner/options.h"
#include "specs/job.pb.h"

namespace flowrun::runner {

struct resources {
  uint64_t memory_bytes = 0;
  unsigned threads = 1;
  std::vector<block::disk_config> scratch;
  uint64_t block_bytes = 0;  // 0: the planner's choice
  uint64_t batch_bytes = 0;
  uint64_t scratch_limit = 0;  // bytes, all scratch directories together; 0: no limit
  unsigned disk_depth = 0;     // transfers in flight per disk; 0: the engine's choice
  block::allocation_strategy allocation = block::allocation_strategy::randomised_cycling;
  io::service_order io_order = io::service_order::alternating;
  // Where each came from: "command line", "job", the configuration's path, "default".
  std::string memory_from;
  std::string threads_from;
  std::string scratch_from;
};

resources decide(const resource_arguments& given, const specs::Resources& of_job,
                 const machine_configuration& of_machine);

// As the planner wants to know it.
plan::machine machine_of(const resources& decided);

// Checks that what stands where the user wants a scratch directory is a directory, even if the job will not need it.
// Throws error(usage) or error(bad_spec).
void check_scratch(const resources& chosen);

// Tries whether the scratch directories can be made and written, so that a mistyped one is found out before the run.
// One of the command line is tried in any case, others where scratch `is_needed`; the default one is not the user's
// fault. Throws error(output), error(resources).
void try_scratch(const resources& chosen, bool is_needed);

// "500GiB at the end of DIR:500GiB" is a limit when it is a size.
block::disk_config parse_scratch(const std::string& text);

}  // namespace flowrun::runner
