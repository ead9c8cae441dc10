// Which share of the blocks each disk of a job should take. Pure.
//
// A sort is over when its slowest disk is, so unequal disks get unequal shares. These are in proportion to the weights
// that the user or `flowrun bench-disk` gave, else to what was measured so far in this job (bytes moved per second of
// being busy). Measured shares are rounded coarsely, so that equal disks stay equal in spite of noise: the balance that
// the allocation strategies promise (allocation.h) is worth more than a few per cent.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flowrun::block {

struct disk_speed {
  uint64_t num_bytes = 0;
  uint64_t busy_ns = 0;
};

// `given[d]`: 0 for unknown; used only when all are known. `takes[d]`: the disk takes new blocks. The result has one
// weight per disk, the largest being 1, 0 for disks that take none; all are 1 when no disk takes any (allocation then
// says so). Measured shares are multiples of 1/16, and 1 from 0.8 of the fastest on; before each disk has moved
// `least_measured` bytes all are 1.
constexpr uint64_t least_measured = uint64_t{16} << 20;
std::vector<double> disk_weights(std::span<const double> given, std::span<const disk_speed> measured,
                                 const std::vector<bool>& takes);

}  // namespace flowrun::block
