#include "engine/sort/run_creator.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/runs/run_writer.h"
#include "engine/sort/run_creator_kinds.h"

namespace flowrun::sort {

uint64_t minimum_sort_memory(uint32_t block_bytes) { return uint64_t{24} * block_bytes; }

creator_memory divide_creator_memory(const sort_resources& resources) {
  const uint64_t block = resources.block_bytes;
  if (resources.memory_bytes < minimum_sort_memory(resources.block_bytes))
    throw error(error_kind::resources,
                fmt::format("a sort needs at least {} with blocks of {}, and has {}",
                            format_bytes(minimum_sort_memory(resources.block_bytes)), format_bytes(block),
                            format_bytes(resources.memory_bytes)),
                "raise the memory budget (-m)");
  creator_memory memory;
  memory.num_buffers = static_cast<unsigned>(
      std::clamp<uint64_t>(resources.memory_bytes / 8 / block, 2, std::max(resources.write_buffers, 2U)));
  const unsigned num_blocks = memory.num_buffers + runs::run_writer::num_filled_buffers(resources.coding);
  memory.half_bytes = (resources.memory_bytes - num_blocks * block) / 2;
  return memory;
}

std::unique_ptr<run_creator> make_run_creator(const sort_settings& settings, const sort_resources& resources) {
  FLOWRUN_CHECK(settings.narrow() || !settings.long_runs);
  FLOWRUN_CHECK(settings.narrow() || resources.coding.how != runs::compression::delta);
  if (settings.long_runs) return make_long_run_creator(settings, resources);
  return settings.narrow() ? make_narrow_run_creator(settings, resources) : make_wide_run_creator(settings, resources);
}

}  // namespace flowrun::sort
