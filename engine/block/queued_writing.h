// Optimal queued writing: blocks arrive in a fixed order, each bound for one of D disks, and wait in m buffers.
//
// The greedy rule is by Hutchinson, Sanders and Vitter (ESA 2001; Asynchronous sorting, section 2.4). Fill the free
// buffers with the next blocks, let every disk with blocks waiting write the first of them, and free a buffer when its
// write ends. No other rule needs fewer steps, and that holds for disks of unequal speed too. The k-th write of a disk
// can't start before its block has a buffer, nor before the (k-1)-th ends; a block can't get a buffer before enough
// writes have ended. The greedy rule does each at the first moment that these allow, and to do anything later would
// only delay what waits for it.
//
//   e d c b a   arriving for disks 2 2 0 1 0,   m = 3
//   step 0: [e d c], e and c go out;   step 1: [d b a], all go out
//
// Pure functions; the real writer (buffered_writer.h) follows the same rule with the disks' true times. Read backwards,
// this is optimal prefetching (prefetch_schedule.h).
//
// A block may also be bound for no disk: it has a buffer from its arrival to the end. So blocks that were read before a
// prefetch schedule begins are told to it (prefetch_schedule.h).
//
// Cost: O(n + steps · D) time, 20 bytes a block while computing, 16 of them in the result; with unequal disks `steps`
// is the number of moments at which some write ends, at most n.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flowrun::block {

constexpr uint32_t no_disk = UINT32_MAX;

// When which block moves. For disks of unequal speed read ticks for steps.
struct io_schedule {
  std::vector<uint64_t> order;  // positions in the given sequence, in the order of starting: all that have a disk
  std::vector<uint64_t> step;   // step[i]: the parallel step, from 0, in which order[i] starts; ascending
  uint64_t num_steps = 0;       // when the last one has ended
};

// `disks[i]` < num_disks is the disk of the i-th block to arrive, or no_disk for fewer than num_buffers of them; fewer
// than 2^32 - 1 blocks; num_buffers > 0. Every disk writes one block a step. Within a step, blocks are in the order of
// arrival.
io_schedule queued_writing(std::span<const uint32_t> disks, unsigned num_disks, uint64_t num_buffers);

// The same for disks of unequal speed: disk d needs ticks_per_block[d] > 0 ticks for a block. With equal ticks it is
// the schedule above, stretched.
io_schedule queued_writing(std::span<const uint32_t> disks, std::span<const uint64_t> ticks_per_block,
                           uint64_t num_buffers);

// Whole ticks per block, about in proportion to 1 / weight (to 1 in 1000), for disks with these weights (bandwidths):
// finite, none below 0, one above. A disk of weight 0 takes no new blocks, but old ones may be read from it: it counts
// as the slowest of the others. Equal weights give 1 tick each.
std::vector<uint64_t> ticks_of_weights(std::span<const double> weights);

}  // namespace flowrun::block
