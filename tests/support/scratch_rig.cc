#include "tests/support/scratch_rig.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "engine/base/units.h"
#include "engine/io/backends.h"

namespace flowrun {

block::manager_options memory_options(io::backend& backend, unsigned num_disks, uint64_t limit) {
  block::manager_options options;
  for (unsigned d = 0; d < num_disks; ++d) options.disks.push_back({"disk" + std::to_string(d), limit});
  options.backend = &backend;
  options.in_memory = true;
  return options;
}

block::manager_options directory_options(io::backend& backend, const temporary_directory& where, unsigned num_disks) {
  block::manager_options options;
  for (unsigned d = 0; d < num_disks; ++d) options.disks.push_back({where / ("disk" + std::to_string(d))});
  options.backend = &backend;
  options.reserve_step = 64 * KiB;
  return options;
}

scratch_rig::scratch_rig(const scratch_options& options, std::unique_ptr<io::backend> backend)
    : backend_(backend           ? std::move(backend)
               : options.on_disk ? io::make_thread_backend(16)
                                 : io::make_memory_backend()) {
  block::manager_options disks = options.on_disk ? directory_options(*backend_, directory_.emplace(), options.num_disks)
                                                 : memory_options(*backend_, options.num_disks);
  for (block::disk_config& disk : disks.disks) disk.limit = options.limit;
  blocks_ = std::make_unique<block::block_manager>(std::move(disks));
}

scratch_rig::~scratch_rig() { EXPECT_EQ(blocks_->used_bytes(), 0U) << "scratch blocks were left behind"; }

}  // namespace flowrun
