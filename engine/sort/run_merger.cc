#include "engine/sort/run_merger.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/sort/run_merger_kinds.h"

namespace flowrun::sort {

namespace {

merger_memory checked(const sort_resources& resources, const sizes::merger_sizes& sizes, bool folds = false) {
  const sizes::half_budget least{.block_bytes = sizes.block_bytes,
                                 .compressed = resources.coding.compresses(),
                                 .folds = folds,
                                 .uncounted = sizes.uncounted};
  if (!sizes.fits)
    throw error(error_kind::resources,
                fmt::format("{}merging blocks of {} needs at least {}, and has {}", message_start(resources),
                            format_bytes(sizes.block_bytes), format_bytes(sizes::least_merge_memory(least)),
                            format_bytes(resources.memory_bytes)),
                "raise the memory budget (-m)");
  merger_memory out{sizes, resources.coding, resources.prefetch};
  return out;
}

}  // namespace

merger_memory memory_of(const sort_resources& resources) { return checked(resources, resources.merging); }

merger_memory memory_of(const sort_resources& resources, uint32_t longest_block, uint64_t first_keys, bool folds) {
  const uint64_t counted = first_keys - std::min(first_keys, resources.merging.uncounted.first_keys);
  if (counted > resources.memory_bytes / 2)
    throw error(error_kind::resources,
                fmt::format("{}what has to be known of the runs' blocks takes {}, more than half of the sort's memory",
                            message_start(resources), format_bytes(first_keys)),
                "raise the memory budget (-m)");
  if (counted == 0 && longest_block == resources.merging.block_bytes) return memory_of(resources);
  const sizes::merger_sizes sizes = sizes::divide_merger({.memory_bytes = resources.memory_bytes - counted,
                                                          .block_bytes = longest_block,
                                                          .num_disks = resources.blocks->num_disks(),
                                                          .disk_depth = resources.blocks->queue_depth(),
                                                          .threads = resources.threads,
                                                          .compressed = resources.coding.compresses(),
                                                          .folds = folds,
                                                          .uncounted = resources.merging.uncounted});
  return checked(resources, sizes, folds);
}

std::unique_ptr<run_merger> make_run_merger(const sort_settings& settings, const sort_resources& resources,
                                            runs::sorted_runs runs, size_t batch_bytes) {
  return settings.narrow() ? make_narrow_run_merger(settings, resources, std::move(runs), batch_bytes)
                           : make_wide_run_merger(settings, resources, std::move(runs), batch_bytes);
}

}  // namespace flowrun::sort
