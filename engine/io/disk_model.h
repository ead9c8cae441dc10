// When a disk would be done: a pure model of its timing.
//
// A transfer costs a positioning time and then its bytes at the bandwidth of its zone:
//
//   seek      none when it starts where the last one ended, else
//             shortest + (longest - shortest) * sqrt(distance / capacity), the usual curve of an arm that speeds up and
//             brakes; its mean over two random places is shortest + 8/15 (longest - shortest)
//   latency   the mean rotational delay (half a turn) of a transfer that seeks; for flash, of every transfer
//
// With a depth of q, the positioning of up to q transfers that are with the device overlaps with the bytes of others
// (flash, and disks that reorder). With a depth of 1, everything is strictly one after the other, as on the IDE disks
// of Asynchronous sorting, section 4. Bytes are always one after the other: that is the bandwidth. First come, first
// served.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flowrun::io {

struct disk_model {
  // Where bandwidth changes: outer tracks are longer. Ascending; beyond the last zone its bandwidth goes on.
  struct zone {
    uint64_t until = UINT64_MAX;  // exclusive offset
    double bytes_per_second = 0;
  };

  std::string name;
  std::vector<zone> zones;         // at least one
  uint64_t capacity = UINT64_MAX;  // bytes: the distance of the longest seek
  uint64_t shortest_seek_ns = 0;   // track to track
  uint64_t longest_seek_ns = 0;    // full stroke
  uint64_t latency_ns = 0;
  bool latency_when_sequential = false;
  unsigned depth = 1;  // >= 1

  uint64_t seek_ns(uint64_t distance) const;
  // Time of the bytes [offset, offset + num_bytes) alone.
  uint64_t transfer_ns(uint64_t offset, uint64_t num_bytes) const;
  // What a transfer of num_bytes at `offset` takes when the arm comes from `head`.
  uint64_t positioning_ns(uint64_t head, uint64_t offset) const;
};

// IBM Deskstar 120GXP, the disk of Asynchronous sorting, section 4: 80 GB, 7200 rpm, 8.5 ms average seek, 48 MB/s
// outside and half of that inside, in eight zones.
disk_model ibm_120gxp();
// A flash disk: 3.5 GB/s, 80 us latency that overlaps 32 deep, no seeks.
disk_model nvme();
// The model of theorem 4: every transfer of block_bytes takes block_ns, wherever it lies.
disk_model uniform(uint64_t block_bytes, uint64_t block_ns);
// Throws error(usage) for names other than "ibm_120gxp" and "nvme".
disk_model disk_model_named(std::string_view name);

// The same disk with all lengths divided by `factor`: a transfer of n bytes takes the time of factor * n on `model`. So
// simulated blocks of 16 KiB cost what blocks of 2 MiB would.
disk_model shrunk(disk_model model, uint64_t factor);

// One disk of a model at work: its arm and its queue. Not thread-safe.
class modelled_disk {
 public:
  explicit modelled_disk(disk_model model);

  const disk_model& model() const { return model_; }
  // Takes a transfer that arrives at `now` (not before the one before) and returns when it ends.
  uint64_t serve(uint64_t now, uint64_t offset, uint64_t num_bytes);
  // Transfers so far, those that had to position the arm, and the time spent on bytes and on positioning that delayed
  // them.
  uint64_t num_transfers() const { return num_transfers_; }
  uint64_t num_seeks() const { return num_seeks_; }
  uint64_t busy_ns() const { return busy_ns_; }

 private:
  disk_model model_;
  std::vector<uint64_t> ends_;  // of the last `depth` transfers, a ring
  uint64_t num_transfers_ = 0;
  uint64_t num_seeks_ = 0;
  uint64_t busy_ns_ = 0;
  uint64_t last_end_ = 0;
  uint64_t head_ = 0;
};

}  // namespace flowrun::io
