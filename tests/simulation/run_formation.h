// Run formation on a simulated machine: the real prefetcher reads the input from the disks, the real run creator sorts
// and writes runs to the same disks, and the driver charges a stated cost per row.
#pragma once

#include <cstdint>
#include <span>

#include "engine/block/block_prefetcher.h"
#include "tests/simulation/sorted_input.h"

namespace flowrun::simulation {

// Rows on the disks in no order. Frees its blocks.
class disk_input {
 public:
  disk_input(simulated_machine& machine, const sort::sort_settings& settings, uint32_t block_bytes,
             std::span<const uint64_t> keys);
  ~disk_input();
  disk_input(const disk_input&) = delete;
  disk_input& operator=(const disk_input&) = delete;

  const std::vector<block::fetch>& blocks() const { return blocks_; }

 private:
  simulated_machine& machine_;
  std::vector<block::fetch> blocks_;
};

struct formation_options {
  sort::sort_settings settings;
  uint32_t block_bytes = 4096;
  uint64_t memory_blocks = 64;  // of the run creator: two halves, write buffers
  unsigned read_buffers = 8;
  double ns_per_row = 0;  // computation: all of it, sorting included
};

struct formation_outcome {
  uint64_t total_ns = 0;  // from the first read to the end of the last write
  uint64_t compute_ns = 0;
  uint64_t read_wait_ns = 0;   // no input was there
  uint64_t write_wait_ns = 0;  // the other half of the run buffer was not written yet, or the last writes
  uint64_t disk_busy_ns = 0;
  runs::sorted_runs runs;
};

formation_outcome simulate_run_formation(simulated_machine& machine, const formation_options& options,
                                         const disk_input& input);

}  // namespace flowrun::simulation
