// The order in which to fetch blocks that will be consumed in a known order σ, from D disks, with m buffers.
//
// Fetching in the order σ itself leaves disks idle: while σ asks for many blocks of one disk, the buffers fill with
// what can't be consumed yet. Hutchinson, Sanders and Vitter (ESA 2001; papers/000, section 2.4) turn the problem
// around. Run backwards, prefetching is writing: blocks arrive in the order σ reversed, wait in m write buffers, and
// each step every disk may put out one block. For writing, the greedy rule is optimal (fill the buffers, put out the
// head of each non-empty disk queue), so its steps, read backwards, are an optimal prefetch schedule:
//
//   σ = a b c d e   on disks 0 1 0 2 2,   m = 3
//   written   {e c} {d b a}     buffers [e d c]: e and c go out; [d b a]: all go out
//   fetched   {a b d} {c e}     2 steps. In the order σ: {a b} {c d} {e}, 3 steps; disk 2 idles while c has a buffer
//
// Invariant (why a prefetcher that obeys the order can't get stuck with m buffers): when a block is fetched, at most m
// - 1 blocks that come after it in σ have been fetched before it, since they would all have been in the write buffer
// together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flowrun::block {

struct prefetch_schedule {
  std::vector<uint64_t> order;  // positions in σ, in the order of fetching; a permutation of 0 … n-1
  std::vector<uint64_t> step;   // step[i]: the parallel step, from 0, in which order[i] is fetched
  uint64_t num_steps = 0;       // parallel input steps; the least possible for optimal_schedule
};

// The prediction order itself (order[i] = i) and the steps it takes. `disks[i]` < num_disks is the disk of σ's i-th
// block; num_buffers > 0. O(n).
prefetch_schedule naive_schedule(std::span<const uint32_t> disks, unsigned num_disks, uint64_t num_buffers);

// The optimal schedule by queued writing of σ reversed. Steps ascend; within a step, blocks are in the order of σ. O(n
// + steps · D).
prefetch_schedule optimal_schedule(std::span<const uint32_t> disks, unsigned num_disks, uint64_t num_buffers);

// The parallel step in which each block of `order` is served (same indices as `order`) when buffers are given out in
// that order as they become free and every disk serves its own queue first come first served, one block a step. A
// buffer becomes free when its block is consumed, in the order of σ, at the end of a step. Throws error(internal) when
// that gets stuck.
std::vector<uint64_t> simulate_fetching(std::span<const uint64_t> order, std::span<const uint32_t> disks,
                                        unsigned num_disks, uint64_t num_buffers);

}  // namespace flowrun::block
