// How a merge's buffer blocks are divided. The heuristics of Asynchronous sorting, section 5, were the start; what
// measurement (tests/simulation, docs/simulation) left of them:
//
//   reading   r blocks beyond those of the runs: the prefetch schedule counts on 2D + 3/10 (r - 2D) of them, the rest
//             overlaps (figure 11). Other splits differ by 0.2 % on average, so the paper's stays.
//   writing   the paper takes max(t/4, 2D) of t blocks (figure 12). 2D are enough where a disk takes one request at a
//             time; with deeper queues writing waits for reads, and needs D (2 + depth/2).
#pragma once

#include <cstdint>

namespace flowrun::sizes {

// Of `read_buffers` blocks, how many the prefetch schedule may count on (its m); at most all of them.
constexpr uint64_t split_read_buffers(uint64_t read_buffers, unsigned num_disks) {
  const uint64_t least = uint64_t{2} * num_disks;
  return read_buffers <= least ? read_buffers : least + (read_buffers - least) * 3 / 10;
}

// Buffers with which writing never waits although reading keeps the disks' queues full. A write finds up to
// `queue_depth` reads ahead of it that its disk has taken already; meanwhile half as many blocks have to be written
// (the disk's time is shared by reading and writing). Two more are the one being transferred and the one that follows.
constexpr uint64_t unhindered_write_buffers(unsigned num_disks, unsigned queue_depth) {
  return uint64_t{num_disks} * (2 + (uint64_t{queue_depth} + 1) / 2);
}

}  // namespace flowrun::sizes
