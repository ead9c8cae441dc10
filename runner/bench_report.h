// What flowrun bench-disk found, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "runner/benched_directories.h"
#include "runner/disk_search.h"
#include "runner/machine_configuration.h"

namespace flowrun::runner {

struct bench_findings {
  const std::vector<benched_directory>& directories;
  const std::vector<uint64_t>& file_bytes;  // filled
  const search_result& result;
  std::string backend;
  double seconds = 0;  // of a measurement
};

// The suggestion. A weight is a directory's mixed bandwidth in MB/s; directories on one disk share it.
measured_disks suggestion_of(const bench_findings& found);

// The least seconds that scratch takes for each GiB sorted, on all directories together, if nothing but the disks costs
// time.
struct overlapped_bound {
  double written_then_read = 0;  // runs written, then read: inputs and outputs elsewhere
  double read_and_written = 0;   // read and written at once: a merge pass, or half of a sort whose files are here, too
};
overlapped_bound bound_of(const pattern_speeds& together);

std::string bench_text(const bench_findings& found);
// `saved`: the configuration written; empty: none.
std::string bench_json(const bench_findings& found, const std::string& saved);

}  // namespace flowrun::runner
