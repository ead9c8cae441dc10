// The search of flowrun bench-disk for the block size and the depth that are enough for the disks.
//
// Not all combinations are measured. First come block sizes at a depth of 8, then depths at the chosen block size, all
// with reads and writes mixed, as in a merge. Then, with both values chosen, come longer measurements of reads alone,
// writes alone and both at once, on each disk by itself and on all together. The smallest value that reaches 95 % of
// the best is chosen: small blocks leave room for more runs in a merge, and a small depth for more buffers elsewhere. A
// job has one block size and one depth, so the sums over the disks decide.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/disk_probe.h"

namespace flowrun::runner {

inline constexpr double good_enough = 0.95;

struct search_settings {
  std::vector<uint64_t> block_sizes;  // ascending, not empty
  std::vector<unsigned> depths;       // ascending, not empty
  double seconds = 0;                 // of a measurement; the last ones take three times that
};

struct disk_measurement {
  io::probe_pattern pattern = io::probe_pattern::mixed;
  uint64_t block_bytes = 0;
  unsigned depth = 0;
  io::bandwidth speed;
};

struct pattern_speeds {
  io::bandwidth read;
  io::bandwidth write;
  io::bandwidth mixed;
};

struct search_result {
  std::vector<std::vector<disk_measurement>> measurements;  // of each disk, in the order of measuring
  uint64_t block_bytes = 0;
  unsigned depth = 0;
  std::vector<pattern_speeds> alone;  // of each disk with the values chosen
  pattern_speeds together;            // of all at the same time; of one disk the same as alone
};

std::string_view name_of(io::probe_pattern pattern);

// The index of the first of `values` that is good enough beside the largest. Not empty.
size_t smallest_good_enough(const std::vector<double>& values);

// Called with what is measured next: which of how many steps (a step is settings.seconds long), and on which disk
// (disks.size() for all of them).
struct search_step {
  size_t done = 0;
  size_t total = 0;
  size_t disk = 0;
  io::probe_pattern pattern = io::probe_pattern::mixed;
  uint64_t block_bytes = 0;
  unsigned depth = 0;
};

// `file_bytes`: how much of each disk is filled. Block sizes and depths whose transfers in flight would fill more than
// half of a file are left out; throws error(usage) when none remains.
search_result search(io::disk_probe& probe, const std::vector<uint64_t>& file_bytes, const search_settings& settings,
                     const std::function<void(const search_step&)>& tell);

}  // namespace flowrun::runner
