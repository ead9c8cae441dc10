#include "engine/sort/run_creator.h"

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/sort/run_creator_kinds.h"

namespace flowrun::sort {

namespace {

void check_creator_memory(const sort_resources& resources) {
  const uint64_t least = resources.creating.least_memory;
  if (resources.memory_bytes >= least) return;
  throw error(error_kind::resources,
              fmt::format("{}a sort needs at least {} with blocks of {}, and has {}", message_start(resources),
                          format_bytes(least), format_bytes(resources.creating.block_bytes),
                          format_bytes(resources.memory_bytes)),
              "raise the memory budget (-m)");
}

}  // namespace

std::unique_ptr<run_creator> make_run_creator(const sort_settings& settings, const sort_resources& resources) {
  FLOWRUN_CHECK(settings.narrow() || !settings.long_runs);
  FLOWRUN_CHECK(settings.narrow() || resources.coding.how != runs::compression::delta);
  check_creator_memory(resources);
  if (settings.long_runs) return make_long_run_creator(settings, resources);
  return settings.narrow() ? make_narrow_run_creator(settings, resources) : make_wide_run_creator(settings, resources);
}

}  // namespace flowrun::sort
