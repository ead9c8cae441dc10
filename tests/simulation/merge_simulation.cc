#include "tests/simulation/merge_simulation.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/base/error.h"
#include "engine/block/buffered_writer.h"
#include "tests/simulation/block_output.h"
#include "tests/support/wakers.h"

namespace flowrun::simulation {

merge_outcome simulate_merge(simulated_machine& machine, const merge_options& options, runs::sorted_runs runs) {
  merge_outcome outcome;
  for (const runs::run& r : runs.runs) outcome.num_blocks_read += r.blocks.size();
  sort::sort_resources resources;
  resources.blocks = &machine.blocks();
  resources.pool = &machine.pool();
  resources.post = machine.poster();
  // A quarter of a merger's memory is for slices (sizes::divide_merger).
  resources.memory_bytes = (options.read_blocks * options.block_bytes * 4 + 2) / 3;
  resources.merging = sizes::divide_merger({.memory_bytes = resources.memory_bytes,
                                            .block_bytes = options.block_bytes,
                                            .num_disks = resources.blocks->num_disks(),
                                            .disk_depth = resources.blocks->queue_depth()});
  resources.prefetch = options.prefetch;
  machine.settle();
  const uint64_t started = machine.now();
  const uint64_t busy_before = machine.busy_ns();
  const uint64_t seeks_before = machine.num_seeks();

  const auto merger = sort::make_run_merger(options.settings, resources, std::move(runs), 64 * options.block_bytes);
  block_output output(machine, options.settings.type.row_bytes(), options.block_bytes, options.write_buffers,
                      options.ns_per_row);
  if (!options.write_output) output.discard();
  const settle_first guard{machine};
  no_waker nobody;
  std::vector<sort::merge_part> raw;
  std::vector<record::batch> refined;
  for (;;) {
    raw.clear();
    const auto s = merger->pull(raw, nobody);  // `outcome` is what the simulation gives
    for (const sort::merge_part& part : raw) {
      refined.clear();
      merger->refine(part, refined);
      for (const record::batch& rows : refined) output.append(rows);
    }
    if (s.is_done()) break;
    if (s.is_blocked()) outcome.read_wait_ns += machine.wait();
  }
  output.finish();

  outcome.total_ns = machine.now() - started;
  outcome.compute_ns = output.compute_ns();
  outcome.write_wait_ns = output.wait_ns();
  outcome.num_rows = output.num_rows();
  outcome.num_blocks_written = output.num_blocks();
  outcome.sorted = output.sorted();
  outcome.disk_busy_ns = machine.busy_ns() - busy_before;
  outcome.num_seeks = machine.num_seeks() - seeks_before;
  return outcome;
}

}  // namespace flowrun::simulation
