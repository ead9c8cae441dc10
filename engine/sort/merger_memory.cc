#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/block/buffer_split.h"
#include "engine/runs/run_writer.h"
#include "engine/sort/run_merger.h"
#include "engine/sort/run_merger_kinds.h"

namespace flowrun::sort {

uint64_t merger_slice_bytes(const sort_resources& resources) {
  const uint64_t in_flight = resources.threads + 2;
  return std::clamp<uint64_t>(resources.memory_bytes / 4 / in_flight / 2, 4 * KiB, 1 * MiB);
}

// A quarter of the memory is for slices on their way through the pipeline (each as words and as rows), three quarters
// are block buffers: one per run, two more being merged, and the rest, at least two per disk, for reading ahead. An
// intermediate merge has one slice at a time in two forms, or the indices of some, and writes with what the others
// would take. Compressed blocks are read into the buffers for reading ahead, and decoded into those of the runs: no
// more memory, and no less fan-in.
merger_memory divide_merger_memory(const sort_resources& resources, uint32_t longest_block) {
  merger_memory memory;
  memory.slice_bytes = merger_slice_bytes(resources);
  memory.coding = resources.coding;
  memory.prefetch = resources.prefetch;
  constexpr uint64_t most_buffers = 1U << 20;
  const uint64_t total = std::min((resources.memory_bytes - resources.memory_bytes / 4) / longest_block, most_buffers);
  const uint64_t ahead = std::clamp<uint64_t>(total / 4, 2, std::max<uint64_t>(16, 4 * resources.blocks->num_disks()));
  if (total < memory.lookahead + ahead + 2)
    throw error(error_kind::resources,
                fmt::format("merging blocks of {} needs at least {}, and has {}", format_bytes(longest_block),
                            format_bytes(uint64_t{longest_block} * 8), format_bytes(resources.memory_bytes)),
                "raise the memory budget (-m)");
  memory.fan_in = total - memory.lookahead - ahead;
  memory.num_buffers = static_cast<unsigned>(total);
  const uint64_t for_slices = resources.memory_bytes / 4;
  const uint64_t taken = (resources.threads + 1) * memory.slice_bytes +
                         uint64_t{runs::run_writer::num_filled_buffers(resources.coding)} * longest_block;
  const uint64_t spare = for_slices - std::min(for_slices, taken);
  const block::block_manager& blocks = *resources.blocks;
  memory.write_buffers = static_cast<unsigned>(std::clamp<uint64_t>(
      spare / longest_block, 2, block::unhindered_write_buffers(blocks.num_disks(), blocks.queue_depth())));
  return memory;
}

std::unique_ptr<run_merger> make_run_merger(const sort_settings& settings, const sort_resources& resources,
                                            runs::sorted_runs runs, size_t batch_bytes) {
  return settings.narrow() ? make_narrow_run_merger(settings, resources, std::move(runs), batch_bytes)
                           : make_wide_run_merger(settings, resources, std::move(runs), batch_bytes);
}

}  // namespace flowrun::sort
