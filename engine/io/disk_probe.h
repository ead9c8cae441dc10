// How fast disks are: sequential reads, writes, or both at once, with a given block size and number of transfers in
// flight, on one disk or on several at the same time (STXXL, section 3: what the AIO layer can get out of them).
//
// Each disk is a file that is filled first, because a file system answers reads of space that was never written without
// its disk. Transfers go through the file in order and begin again at its end; a later measurement goes on where the
// last one stopped, so that no cache of the disk has what comes next. A mixed measurement reads the first half and
// writes the second, as many bytes of each. What is written differs from page to page and has no pattern, so that disks
// that compress or share equal pages win nothing.
//
// Cost: one thread (the caller's) that starts the next transfer when one has ended, and depth × block size of memory
// per disk.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/clock.h"
#include "engine/io/bandwidth_windows.h"
#include "engine/io/request.h"

namespace flowrun::io {

enum class probe_pattern { read, write, mixed };

struct probe_settings {
  probe_pattern pattern = probe_pattern::mixed;
  size_t block_bytes = 0;  // a multiple of io_alignment
  unsigned depth = 1;      // transfers in flight on each disk
  uint64_t ramp_ns = 0;    // not counted
  uint64_t window_ns = 0;
  size_t num_windows = 5;  // the result is their median (bandwidth_windows.h)
};

struct probe_result {
  std::vector<bandwidth> disks;  // of the disks measured, in their order
  bandwidth together;            // their sum
};

class disk_probe {
 public:
  // `disks` and `carrier` outlive the probe. Everything throws error(cancelled) soon after `stop` became true.
  disk_probe(backend& carrier, std::vector<file*> disks, const std::atomic<bool>& stop,
             std::function<uint64_t()> clock = now_ns);
  ~disk_probe();
  disk_probe(const disk_probe&) = delete;
  disk_probe& operator=(const disk_probe&) = delete;

  // Reserves `num_bytes` of a disk's file and fills them; stops early at `deadline_ns` once `least_bytes` are filled,
  // and shortens the file to that. Gives the length; measurements use all of it. Throws what the transfers throw.
  uint64_t fill(size_t disk, uint64_t num_bytes, uint64_t least_bytes, uint64_t deadline_ns);

  // Measures these disks (by their index) at the same time. Each must be filled with at least two blocks.
  probe_result measure(std::span<const size_t> which, const probe_settings& settings);

 private:
  struct disk;
  class transfers;
  backend& carrier_;
  const std::atomic<bool>& stop_;
  std::function<uint64_t()> clock_;
  std::vector<disk> disks_;
  uint64_t pages_written_ = 0;
};

}  // namespace flowrun::io
