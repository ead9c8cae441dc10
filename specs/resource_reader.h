// The resources: section: how much memory, how many threads, and where scratch may lie.
//
//   memory: 1GiB | 50%    threads: 8    block_size: 1MiB
//   scratch: DIR | [DIR, {path: DIR, limit: 500GiB}, …]
//
// Nothing is filled in: what is absent is left to the command line, the machine's configuration and the defaults.
#pragma once

#include "specs/fault_sink.h"
#include "specs/job.pb.h"
#include "specs/value.h"

namespace flowrun::specs {

void read_resources(const Entry& section, Resources& resources, fault_sink& faults);

}  // namespace flowrun::specs
