#include "tests/simulation/run_formation.h"

#include <cmath>

#include "engine/block/prefetch_order.h"
#include "engine/sort/run_creator.h"
#include "tests/simulation/block_output.h"
#include "tests/support/wakers.h"

namespace flowrun::simulation {

disk_input::disk_input(simulated_machine& machine, const sort::sort_settings& settings, uint32_t block_bytes,
                       std::span<const uint64_t> keys)
    : machine_(machine) {
  const uint32_t row_bytes = settings.type.row_bytes();
  block_output output(machine, row_bytes, block_bytes, 16, 0);
  const uint64_t per_block = rows_per_block(block_bytes, row_bytes);
  std::vector<std::byte> rows(per_block * row_bytes);
  for (size_t at = 0; at < keys.size(); at += per_block) {
    record::batch part;
    part.num_rows = std::min<size_t>(per_block, keys.size() - at);
    part.row_bytes = row_bytes;
    part.rows = rows.data();
    for (size_t i = 0; i < part.num_rows; ++i) put_key(rows.data() + i * row_bytes, row_bytes, keys[at + i]);
    output.append(part);
  }
  output.finish();
  blocks_ = output.take();
}

disk_input::~disk_input() {
  for (const block::fetch& one : blocks_) machine_.blocks().free(one.id);
}

formation_outcome simulate_run_formation(simulated_machine& machine, const formation_options& options,
                                         const disk_input& input) {
  sort::sort_resources resources;
  resources.blocks = &machine.blocks();
  resources.pool = &machine.pool();
  resources.post = machine.poster();
  resources.memory_bytes = options.memory_blocks * options.block_bytes;
  resources.creating = sizes::divide_creator({.memory_bytes = resources.memory_bytes,
                                              .block_bytes = options.block_bytes,
                                              .num_disks = resources.blocks->num_disks(),
                                              .disk_depth = resources.blocks->queue_depth()},
                                             resources.memory_bytes);
  machine.settle();
  formation_outcome outcome;
  const uint64_t started = machine.now();
  const uint64_t busy_before = machine.busy_ns();

  const auto creator = sort::make_run_creator(options.settings, resources);
  block::block_prefetcher reader(
      machine.blocks(), input.blocks(), options.read_buffers,
      {.order = block::prefetch_order(input.blocks(), machine.blocks().weights(), options.read_buffers)});
  const settle_first guard{machine};
  no_waker nobody;
  uint64_t num_rows = 0;
  block::prefetched_block block;
  for (;;) {
    const auto s = reader.next(block, &nobody);
    if (s.is_done()) break;
    if (s.is_blocked()) {
      outcome.read_wait_ns += machine.wait();
      continue;
    }
    record::batch rows;
    rows.rows = block.payload();
    rows.num_rows = block.header().num_rows;
    rows.row_bytes = options.settings.type.row_bytes();
    rows.owner = block.owner();
    num_rows += rows.num_rows;
    const auto due = static_cast<uint64_t>(std::llround(static_cast<double>(num_rows) * options.ns_per_row));
    machine.compute(due - outcome.compute_ns);
    outcome.compute_ns = due;
    sort::prepared_rows prepared = creator->prepare(rows);
    rows = {};
    while (creator->push(prepared, nobody).is_blocked()) outcome.write_wait_ns += machine.wait();
  }
  block.reset();
  while (creator->finish(nobody).is_blocked()) outcome.write_wait_ns += machine.wait();
  outcome.runs = creator->take();

  outcome.total_ns = machine.now() - started;
  outcome.disk_busy_ns = machine.busy_ns() - busy_before;
  return outcome;
}

}  // namespace flowrun::simulation
