// Scratch for tests: disks in memory or in a directory, their backend, a block manager over them, and a pool of
// batches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "engine/block/block_manager.h"
#include "engine/io/request.h"
#include "engine/record/batch.h"
#include "tests/support/temporary_directory.h"

namespace flowrun {

constexpr uint32_t tiny_block = 4096;

// `num_disks` disks without a directory. `limit`: of each, in bytes; 0: none.
block::manager_options memory_options(io::backend& backend, unsigned num_disks, uint64_t limit = 0);
// Each in a directory of its own below `where`.
block::manager_options directory_options(io::backend& backend, const temporary_directory& where, unsigned num_disks);

struct scratch_options {
  bool on_disk = false;  // in a temporary directory, served by threads; else in memory, on the thread that asks
  unsigned num_disks = 2;
  uint64_t limit = 0;  // of each disk, in bytes; 0: none
};

// All blocks must be free at its end, or the test fails.
class scratch_rig {
 public:
  // `backend`: used instead, unless it is null.
  explicit scratch_rig(const scratch_options& options = {}, std::unique_ptr<io::backend> backend = nullptr);
  ~scratch_rig();
  scratch_rig(const scratch_rig&) = delete;
  scratch_rig& operator=(const scratch_rig&) = delete;

  block::block_manager& blocks() { return *blocks_; }
  const block::block_manager& blocks() const { return *blocks_; }
  record::batch_pool& pool() { return pool_; }

 private:
  std::optional<temporary_directory> directory_;
  std::unique_ptr<io::backend> backend_;
  record::batch_pool pool_;
  std::unique_ptr<block::block_manager> blocks_;
};

}  // namespace flowrun
