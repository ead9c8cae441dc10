// The scratch space of a job: blocks on one large file per disk (STXXL, section 4, "one-large-file-per-disk").
//
// Each disk is a directory with one unlinked file in it, made at the first allocation there, so that a job that stays
// in memory touches no disk and nothing is left behind, however the process ends. File space is reserved ahead in large
// steps (less fragmentation; ext4 serialises direct writes past the end) and freed blocks are used again first, lowest
// offset first (extent_list.h). A disk that is full, at its limit, or failed a write passes its blocks on to the next
// one with room; the user is warned of a full or failed one, once.
//
// Disks may be unequal: each takes a share of the blocks proportional to its weight, which is given or measured from
// the transfers so far (disk_weights.h), so that all are busy to the end. Each has a queue of this manager (one job),
// with its depth and order (io/disk_queue.h), which also sees to it that no block has two transfers at once.
//
// A job that may be resumed has named files instead, and blocks in them that are kept: their space is used by nothing
// else until they are let go.
//
// Thread-safe: one mutex per disk, held while that disk's file grows (milliseconds once in reserve_step bytes); an
// allocation otherwise costs a map operation.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "engine/block/allocation.h"
#include "engine/block/block_id.h"
#include "engine/io/disk_queue.h"
#include "engine/io/request.h"
#include "engine/io/statistics.h"

namespace flowrun::block {

// A scratch directory.
struct disk_config {
  std::string path;    // made with mode 0700 when missing
  uint64_t limit = 0;  // the longest its scratch file may get, in bytes; 0: no limit
  double weight = 0;   // its speed relative to the others'; 0: measured (then all are)
  // The file with its blocks, which stays when the process ends; empty: one without a name, which doesn't.
  std::string kept_file = {};
};

struct manager_options {
  std::vector<disk_config> disks;  // at least one, unless in_memory (then one unnamed disk is assumed)
  io::backend* backend = nullptr;  // carries the transfers out; outlives the manager
  bool in_memory = false;          // scratch files in memory, for tests and for --backend memory
  bool direct = true;              // bypass the page cache where the file system lets us
  uint64_t limit = 0;              // of all disks together, in bytes; 0: none
  uint64_t seed = 1;               // of the random allocation strategies
  allocation_strategy strategy = allocation_strategy::randomised_cycling;
  uint64_t reserve_step = 64 * MiB;  // a multiple of io_alignment
  unsigned depth = 0;                // transfers under way per disk; 0: default_disk_depth
  io::service_order order = io::service_order::alternating;
  std::function<void(const std::string&)> warn;  // what the user should know, thread-safe; may be empty
};

// Eight blocks under way keep a flash disk busy, and leave the choice of what comes next to the disk's queue.
constexpr unsigned default_disk_depth = 8;

// One disk's state at a moment.
struct disk_usage {
  std::string path;
  uint64_t used = 0;       // bytes in allocated blocks
  uint64_t peak_used = 0;  // the most so far
  uint64_t reserved = 0;   // length of the scratch file
  uint64_t limit = 0;      // 0: none
  double weight = 0;       // its share of new blocks, relative to the others'; 0: takes none (full or failed)
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
  // Transfers of one disk that are under way at once.
  unsigned queue_depth() const { return options_.depth > 0 ? options_.depth : default_disk_depth; }

  // Makes and opens every scratch directory now instead of at the first allocation there. So one that can't be used is
  // found out before any work was done, and one that is removed later does no harm. Throws error(resources) naming the
  // first one that can't be used.
  void open_all();
  // A block of `num_bytes` (> 0, a multiple of io_alignment) on `preferred_disk` or, when that is full, failed or at
  // its limit, on the next disk with room. Throws error(resources) naming every disk when none has (error(io) when one
  // of them has failed), when the limit of all is reached, or when a scratch directory can't be made or used.
  block_id allocate(unsigned preferred_disk, uint32_t num_bytes) {
    return allocate(preferred_disk, num_bytes, 1).first;
  }
  // The same for a bunch of neighbouring blocks, so that a disk with a head reads and writes them without a seek: as
  // many as lie free in one place, from 1 to `most_blocks`.
  struct bunch {
    block_id first;
    unsigned num_blocks = 0;
  };
  bunch allocate(unsigned preferred_disk, uint32_t num_bytes, unsigned most_blocks);
  // Gives the space back, to be used again. No transfer of the block may be in flight. Freeing twice is our bug and
  // ends the process (going on would give one block to two owners).
  void free(block_id id) noexcept;
  // --- blocks that a later process may need (disk_config::kept_file) ---

  // Its space is given to no other block, freed or not, until let_go(): what it holds stays as it is.
  void keep(block_id id);
  void let_go(block_id id) noexcept;
  // A block of an earlier process: allocated and kept from now on. After open_all(), before the first allocation. False
  // when its file doesn't have it, or another block lies there.
  bool restore(block_id id);
  // What has been written is on the disks, also after a loss of power. Throws error(io), error(resources).
  void sync();
  // Numbers of streams begin here, so that no block of an earlier process can be taken for one of this.
  void number_streams_from(uint64_t first) { next_stream_ = first; }

  // A write of this block found the disk full: takes its space out of use for good, and that disk's file grows no more.
  void condemn(block_id id, const std::string& cause);
  // A write of this block failed: takes its space out of use for good, and gives out no more of that disk. True when
  // another disk may still have room.
  bool retire(block_id id, const std::string& cause);

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
  // Each disk's share of new blocks, relative to the others': as given, else as measured; 0 for those that take none.
  // All equal when none takes any.
  std::vector<double> weights() const;
  const manager_options& options() const { return options_; }

 private:
  struct disk;
  std::string full_message(uint32_t num_bytes) const;
  void warn_of_refusals();
  // Claims bytes of the limit of all disks: those of at most `most_blocks` blocks; the number of blocks.
  unsigned claim(uint32_t num_bytes, unsigned most_blocks);

  const manager_options options_;
  std::vector<std::unique_ptr<disk>> disks_;
  std::atomic<uint64_t> used_bytes_{0};
  std::atomic<uint64_t> peak_used_bytes_{0};
  std::atomic<uint64_t> next_stream_{1};
  std::atomic<bool> refusal_untold_{false};  // a disk gave no room, and the user may not know why
};

}  // namespace flowrun::block
