// The sequence in which a merge of k runs asks for their blocks (σ: ordered by first keys, ties by run), as the disks
// of those blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <tuple>
#include <vector>

#include "engine/block/allocation.h"

namespace flowrun::block::testing {

struct merged_block {
  double first_key;
  uint64_t run, index;
};

// Runs of uniformly random keys: the gaps between the first keys of neighbouring blocks are sums of `rows_per_block`
// exponential ones.
inline std::vector<merged_block> merge_of_random_runs(uint64_t num_runs, uint64_t blocks_per_run,
                                                      unsigned rows_per_block, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> first(1.0);
  std::gamma_distribution<double> gap(rows_per_block);
  std::vector<merged_block> blocks;
  for (uint64_t run = 0; run < num_runs; ++run) {
    double key = first(random);
    for (uint64_t index = 0; index < blocks_per_run; ++index, key += gap(random)) blocks.push_back({key, run, index});
  }
  std::sort(blocks.begin(), blocks.end(), [](const merged_block& a, const merged_block& b) {
    return std::tie(a.first_key, a.run, a.index) < std::tie(b.first_key, b.run, b.index);
  });
  return blocks;
}

// All runs alike (1^(B-1) 2 | 3^(B-1) 4 | … each; Asynchronous sorting, section 2.3): the blocks are asked for in
// bursts, one of every run.
inline std::vector<merged_block> merge_of_equal_runs(uint64_t num_runs, uint64_t blocks_per_run) {
  std::vector<merged_block> blocks;
  for (uint64_t index = 0; index < blocks_per_run; ++index) {
    for (uint64_t run = 0; run < num_runs; ++run) blocks.push_back({static_cast<double>(2 * index + 1), run, index});
  }
  return blocks;
}

inline std::vector<uint32_t> disks_of(const std::vector<merged_block>& blocks, const std::vector<disk_cycle>& runs) {
  std::vector<uint32_t> disks;
  disks.reserve(blocks.size());
  for (const merged_block& one : blocks) disks.push_back(runs[one.run].disk_of(one.index));
  return disks;
}

// The same with run r as stream r of `num_disks` disks alike.
inline std::vector<uint32_t> disks_of(const std::vector<merged_block>& blocks, uint64_t num_runs,
                                      allocation_strategy strategy, unsigned num_disks, uint64_t seed) {
  std::vector<disk_cycle> runs;
  for (uint64_t run = 0; run < num_runs; ++run) runs.emplace_back(strategy, num_disks, seed, run);
  return disks_of(blocks, runs);
}

}  // namespace flowrun::block::testing
