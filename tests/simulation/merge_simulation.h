// One merge of sorted runs on a simulated machine: the real run merger and prefetcher on one side, the real
// write-behind of a stream of blocks on the other, and a stated cost per row in between.
//
//   runs on D disks ─▶ block_prefetcher ─▶ run_merger ─▶ ns_per_row ─▶ buffered_writer ─▶ the same D disks
//
// The processor is one: while it merges, the disks go on; when the merger or the writer is blocked, it waits.
#pragma once

#include <cstdint>

#include "engine/sort/run_merger.h"
#include "tests/simulation/sorted_input.h"

namespace flowrun::simulation {

struct merge_options {
  sort::sort_settings settings;
  uint32_t block_bytes = 4096;
  uint64_t read_blocks = 0;          // buffers that the merger may have, in blocks, those of the runs included
  unsigned write_buffers = 2;        // of the output, in blocks
  double ns_per_row = 0;             // computation: taking, comparing and copying a row
  bool write_output = true;          // false: only reading counts
  block::prefetch_options prefetch;  // how the merger reads ahead
};

struct merge_outcome {
  uint64_t total_ns = 0;       // from the first read to the end of the last write
  uint64_t compute_ns = 0;     // num_rows * ns_per_row
  uint64_t read_wait_ns = 0;   // the processor had nothing to merge
  uint64_t write_wait_ns = 0;  // it had no buffer for its output, or waited for the last writes
  uint64_t disk_busy_ns = 0;   // of all disks together
  uint64_t num_seeks = 0;
  uint64_t num_rows = 0;
  uint64_t num_blocks_read = 0;
  uint64_t num_blocks_written = 0;
  bool sorted = true;  // what came out
};

// Merges and writes all of `runs`. The blocks written are freed again.
merge_outcome simulate_merge(simulated_machine& machine, const merge_options& options, runs::sorted_runs runs);

}  // namespace flowrun::simulation
