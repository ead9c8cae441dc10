// The order in which to fetch blocks that will be consumed in a known order σ, from D disks, with m buffers.
//
// Fetching in the order σ itself leaves disks idle: while σ asks for many blocks of one disk, the buffers fill with
// what can't be consumed yet. Hutchinson, Sanders and Vitter (ESA 2001; Asynchronous sorting, section 2.4) turn the
// problem around. Run backwards, prefetching is writing: blocks arrive in the order σ reversed, wait in m write
// buffers, and each step every disk may put out one block. For writing, the greedy rule is optimal (queued_writing.h),
// so its steps, read backwards, are an optimal prefetch schedule:
//
//   σ = a b c d e   on disks 0 1 0 2 2,   m = 3
//   written   {e c} {d b a}     buffers [e d c]: e and c go out; [d b a]: all go out
//   fetched   {a b d} {c e}     2 steps. In the order σ: {a b} {c d} {e}, 3 steps; disk 2 idles while c has a buffer
//
// The same holds for disks of unequal speed, in ticks instead of steps.
//
// Invariants. A prefetcher that obeys the order can't get stuck with m buffers. When a block is fetched, at most m - 1
// blocks that come after it in σ have been fetched before it, since they were all in the write buffer together. The
// prefetcher needn't obey the steps, if it gives every free buffer to the next block of the order at once, and each
// disk serves its blocks in that order. Then each fetch starts at its step or earlier (simulate_fetching() says when):
// what the schedule holds at a step is a prefix of the order, so there is a buffer for it by then.
//
// How good it is: on merges under randomised cycling, also adversarial ones, at least 1 - 0.6 D/m of the disks are busy
// on average after the start (tests/engine/block/schedule_parallelism_test.cc). tests/bench/schedule_table.cc prints
// how many for D up to 64, and what the naive order loses.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/block/queued_writing.h"

namespace flowrun::block {

// order[i] is a position in σ, step[i] the parallel input step in which it is fetched at the latest.
using prefetch_schedule = io_schedule;

// The prediction order itself (order[i] = i) and the steps it takes. `disks[i]` < num_disks is the disk of σ's i-th
// block; num_buffers > 0. Cost as for queued_writing(), here and below.
prefetch_schedule naive_schedule(std::span<const uint32_t> disks, unsigned num_disks, uint64_t num_buffers);

// The optimal schedule by queued writing of σ reversed: num_steps is the least possible. Within a step, blocks are in
// the order of σ. Blocks whose disk is no_disk, fewer than num_buffers, were fetched before it begins: they have their
// buffers and are not in the order.
prefetch_schedule optimal_schedule(std::span<const uint32_t> disks, unsigned num_disks, uint64_t num_buffers);

// The earliest parallel step in which each block of `order` is fetched (same indices as `order`). Buffers are given out
// in that order as they become free. Every disk serves its own queue first come first served, one block a step. A
// buffer becomes free when its block is consumed, in the order of σ, at the end of a step. Throws error(internal) when
// that gets stuck.
std::vector<uint64_t> simulate_fetching(std::span<const uint64_t> order, std::span<const uint32_t> disks,
                                        unsigned num_disks, uint64_t num_buffers);

// The same three for disks of unequal speed: disk d needs ticks_per_block[d] > 0 ticks for a block; steps are ticks, at
// which fetches start. Sorting the optimal one makes it O(n log n) more.
prefetch_schedule naive_schedule(std::span<const uint32_t> disks, std::span<const uint64_t> ticks_per_block,
                                 uint64_t num_buffers);
prefetch_schedule optimal_schedule(std::span<const uint32_t> disks, std::span<const uint64_t> ticks_per_block,
                                   uint64_t num_buffers);
std::vector<uint64_t> simulate_fetching(std::span<const uint64_t> order, std::span<const uint32_t> disks,
                                        std::span<const uint64_t> ticks_per_block, uint64_t num_buffers);

}  // namespace flowrun::block
