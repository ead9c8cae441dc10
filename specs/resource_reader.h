// The resources: section: how much memory, how many threads, and where scratch may lie.
//
//   memory: 1GiB | 50%    threads: 8    block_size: 1MiB    depth: 4
//   scratch: DIR | [DIR, {path: DIR, limit: 500GiB, weight: 250}, …]    scratch_limit: 2TiB
//   allocation: striping | simple_randomised | fully_randomised | randomised_cycling
//   io_order: alternating | writes_first | arrival
//
// Nothing is filled in: what is absent is left to the command line, the machine's configuration and the defaults.
#pragma once

#include <string>
#include <vector>

#include "specs/fault_sink.h"
#include "specs/job.pb.h"
#include "specs/value.h"

namespace flowrun::specs {

// Transfers in flight per disk: from 1 to this.
constexpr uint32_t most_depth = 1024;

// The words for `allocation` and `io_order`, in the order of their enums in job.proto.
std::vector<std::string> allocation_names();
std::vector<std::string> io_order_names();

void read_resources(const Entry& section, Resources& resources, fault_sink& faults);

}  // namespace flowrun::specs
