// The scratch space of a job: blocks on one large file per disk (papers/001, section 4, "one-large-file-per-disk").
//
// Each disk is a directory with one unlinked file in it, made at the first allocation there, so that a job that stays
// in memory touches no disk and nothing is left behind, whatever kills the process. File space is reserved ahead in
// large steps (less fragmentation; ext4 serialises direct writes past the end) and freed blocks are used again first,
// lowest offset first (extent_list.h). A disk that is full or at its limit passes its blocks on to the next one with
// room.
//
// Thread-safe: one mutex per disk, held while that disk's file grows (milliseconds once in reserve_step bytes); an
// allocation otherwise costs a map operation.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "engine/block/allocation.h"
#include "engine/block/block_id.h"
#include "engine/io/request.h"
#include "engine/io/statistics.h"

namespace flowrun::block {

// A scratch directory.
struct disk_config {
  std::string path;    // made with mode 0700 when missing
  uint64_t limit = 0;  // the longest its scratch file may get, in bytes; 0: no limit
};

struct manager_options {
  std::vector<disk_config> disks;  // at least one, unless in_memory (then one unnamed disk is assumed)
  io::backend* backend = nullptr;  // carries the transfers out; outlives the manager
  bool in_memory = false;          // scratch files in memory, for tests and for --backend memory
  bool direct = true;              // bypass the page cache where the file system lets us
  uint64_t seed = 1;               // of the random allocation strategies
  allocation_strategy strategy = allocation_strategy::randomised_cycling;
  uint64_t reserve_step = 64 * MiB;  // a multiple of io_alignment
};

// One disk's state at a moment.
struct disk_usage {
  std::string path;
  uint64_t used = 0;       // bytes in allocated blocks
  uint64_t peak_used = 0;  // the most so far
  uint64_t reserved = 0;   // length of the scratch file
  uint64_t limit = 0;      // 0: none
  io::disk_snapshot transfers;
};

class block_manager {
 public:
  explicit block_manager(manager_options options);
  // All blocks' transfers must be done.
  ~block_manager();
  block_manager(const block_manager&) = delete;
  block_manager& operator=(const block_manager&) = delete;

  unsigned num_disks() const { return static_cast<unsigned>(disks_.size()); }
  io::backend& backend() const { return *options_.backend; }
  const std::string& disk_path(unsigned disk) const;

  // A block of `num_bytes` (> 0, a multiple of io_alignment) on `preferred_disk` or, when that is full or at its limit,
  // on the next disk with room. Throws error(resources) naming every disk when none has; error(output) when a scratch
  // directory can't be made or used.
  block_id allocate(unsigned preferred_disk, uint32_t num_bytes);
  // Gives the space back, to be used again. No transfer of the block may be in flight. Freeing twice is our bug and
  // ends the process (going on would give one block to two owners).
  void free(block_id id) noexcept;
  // A write of this block found the disk full: takes its space out of use for good, and that disk's file grows no more.
  void condemn(block_id id) noexcept;

  // Makes `transfer` (idle) a transfer of the whole block between `data` (aligned to io_alignment) and the disk.
  // on_done is left as it is.
  void prepare(io::request& transfer, block_id id, io::direction way, std::byte* data) const;
  // Where waits for this disk are accounted.
  io::disk_statistics& statistics(unsigned disk) const;

  std::vector<disk_usage> usage() const;
  uint64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }
  uint64_t peak_used_bytes() const { return peak_used_bytes_.load(std::memory_order_relaxed); }

  // Numbers that tell the streams of this manager apart, from 1.
  uint64_t next_stream_id() { return next_stream_.fetch_add(1, std::memory_order_relaxed); }
  // The disks of a stream, by the configured strategy.
  disk_cycle disks_of(uint64_t stream) const {
    return disk_cycle(options_.strategy, num_disks(), options_.seed, stream);
  }

 private:
  struct disk;
  std::string full_message(uint32_t num_bytes) const;
  void add_used(uint64_t num_bytes);

  const manager_options options_;
  std::vector<std::unique_ptr<disk>> disks_;
  std::atomic<uint64_t> used_bytes_{0};
  std::atomic<uint64_t> peak_used_bytes_{0};
  std::atomic<uint64_t> next_stream_{1};
};

}  // namespace flowrun::block
