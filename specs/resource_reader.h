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

// Blocks of scratch: whole pages, since transfers go around the page cache.
constexpr uint64_t block_size_unit = 4096;
constexpr uint64_t most_block_bytes = uint64_t{1} << 30;
inline constexpr const char* block_size_expected = "a multiple of 4096 bytes, from 4KiB to 1GiB";
constexpr bool is_block_size(uint64_t num_bytes) {
  return num_bytes >= block_size_unit && num_bytes % block_size_unit == 0 && num_bytes <= most_block_bytes;
}
// What to write instead of a size that is none: the nearest ones.
std::string nearest_block_sizes(uint64_t num_bytes);

// The words for `allocation` and `io_order`, in the order of their enums in job.proto.
std::vector<std::string> allocation_names();
std::vector<std::string> io_order_names();

void read_resources(const Entry& section, Resources& resources, fault_sink& faults);

}  // namespace flowrun::specs
