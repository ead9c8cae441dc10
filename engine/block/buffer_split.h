// How a merge's buffer blocks are divided: the heuristics of papers/000, section 5, where measurement starts from.
//
//   t = blocks in all ─┬─ write_buffers(t, D) = max(t/4, 2D)           figure 12: more than 2D makes output seek less
//                      └─ r = the rest, read ahead ─┬─ split_read_buffers(r, D) = 2D + 3/10 (r - 2D)   figure 11
//                                                   └─ the rest: overlap, taking up uneven progress
//
// Both are cut where there are too few buffers for them.
#pragma once

#include <algorithm>
#include <cstdint>

namespace flowrun::block {

// Of `read_buffers` blocks, how many the prefetch schedule may count on (its m); at most all of them.
constexpr uint64_t split_read_buffers(uint64_t read_buffers, unsigned num_disks) {
  const uint64_t least = uint64_t{2} * num_disks;
  return read_buffers <= least ? read_buffers : least + (read_buffers - least) * 3 / 10;
}

// Of `total_buffers` blocks for reading and writing, how many to write with; below 4D half of them, rounded down, so
// that reading keeps as many (a single one writes).
constexpr uint64_t write_buffers(uint64_t total_buffers, unsigned num_disks) {
  const uint64_t half = total_buffers == 1 ? 1 : total_buffers / 2;
  return std::min(std::max(total_buffers / 4, uint64_t{2} * num_disks), half);
}

// Buffers with which writing never waits although reading keeps the disks' queues full. A write finds up to
// `queue_depth` reads ahead of it that its disk has taken already; meanwhile half as many blocks have to be written
// (the disk's time is shared by reading and writing). Two more are the one being transferred and the one that follows.
constexpr uint64_t unhindered_write_buffers(unsigned num_disks, unsigned queue_depth) {
  return uint64_t{num_disks} * (2 + (uint64_t{queue_depth} + 1) / 2);
}

}  // namespace flowrun::block
