// The prediction sequence σ: in which order a merge wants the blocks of its runs (Asynchronous sorting, section 2).
// Pure.
//
// A block is wanted when its first key is the smallest that was not merged yet, so σ is the blocks by first key. Equal
// first keys: earlier runs first, which is also how a stable merge takes equal rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/block/prefetched_block.h"
#include "engine/runs/sorted_runs.h"

namespace flowrun::runs {

struct predicted_block {
  uint32_t run = 0;
  uint32_t block = 0;
};

// `less(a_run, a_block, b_run, b_block)`: the first key of the one is less than that of the other. Within a run blocks
// keep their order. O(n log k) for n blocks of k runs.
template <class Less>
std::vector<predicted_block> predict(std::span<const run> runs, Less less) {
  std::vector<predicted_block> heap;  // next block of each run
  auto later = [&](const predicted_block& a, const predicted_block& b) {
    if (less(a, b)) return false;
    if (less(b, a)) return true;
    return a.run > b.run;
  };
  size_t num_blocks = 0;
  for (uint32_t r = 0; r < runs.size(); ++r) {
    num_blocks += runs[r].blocks.size();
    if (!runs[r].blocks.empty()) heap.push_back({r, 0});
  }
  std::make_heap(heap.begin(), heap.end(), later);
  std::vector<predicted_block> sequence;
  sequence.reserve(num_blocks);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    predicted_block& next = heap.back();
    sequence.push_back(next);
    if (++next.block < runs[next.run].blocks.size()) {
      std::push_heap(heap.begin(), heap.end(), later);
    } else {
      heap.pop_back();
    }
  }
  return sequence;
}

// σ as the prefetcher wants it.
inline std::vector<block::fetch> fetches(std::span<const run> runs, const std::vector<predicted_block>& sequence) {
  std::vector<block::fetch> out;
  out.reserve(sequence.size());
  for (const predicted_block& p : sequence) {
    block::fetch f;
    f.id = runs[p.run].blocks[p.block].id;
    f.stream = runs[p.run].stream;
    f.index = runs[p.run].blocks_before + p.block;
    out.push_back(f);
  }
  return out;
}

}  // namespace flowrun::runs
