// The prediction sequence σ: in which order a merge wants the blocks of its runs (Asynchronous sorting, section 2).
// Pure.
//
// A block is wanted when its first key is the smallest that was not merged yet, so σ is the blocks by first key. Equal
// first keys: earlier runs first, which is also how a stable merge takes equal rows.
//
// It is found block by block, as reading gets on: of a terabyte there are a million blocks, and a list of them would be
// as long as what is known of the blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "engine/block/prefetched_block.h"
#include "engine/runs/sorted_runs.h"

namespace flowrun::runs {

struct predicted_block {
  uint32_t run = 0;
  uint32_t block = 0;
};

// `less(a, i, b, j)`: the first key of block i of run a is less than that of block j of run b. May be empty for a
// single run.
using first_key_less = std::function<bool(const run& a, uint32_t i, const run& b, uint32_t j)>;

// A heap of the runs' next blocks: O(log k) for each block, and 8 bytes for each of the k runs.
class prediction {
  // The order of the heap.
  auto later() const {
    return [this](const predicted_block& a, const predicted_block& b) {
      const run &of_a = runs_[a.run], &of_b = runs_[b.run];
      if (less_(of_a, a.block, of_b, b.block)) return false;
      if (less_(of_b, b.block, of_a, a.block)) return true;
      return a.run > b.run;
    };
  }

 public:
  // The runs stay where they are, and as they are.
  prediction(std::span<const run> runs, first_key_less less) : runs_(runs), less_(std::move(less)) {
    for (uint32_t r = 0; r < runs.size(); ++r)
      if (!runs[r].blocks.empty()) heap_.push_back({r, 0});
    std::make_heap(heap_.begin(), heap_.end(), later());
  }

  bool done() const { return heap_.empty(); }
  // The next block of σ. Within a run blocks keep their order. Not when done.
  predicted_block next() {
    std::pop_heap(heap_.begin(), heap_.end(), later());
    const predicted_block found = heap_.back();
    if (++heap_.back().block < runs_[found.run].blocks.size()) {
      std::push_heap(heap_.begin(), heap_.end(), later());
    } else {
      heap_.pop_back();
    }
    return found;
  }
  // The next block of each run that has any left, in no particular order.
  const std::vector<predicted_block>& fronts() const { return heap_; }

 private:
  const std::span<const run> runs_;
  const first_key_less less_;
  std::vector<predicted_block> heap_;
};

// A block as the prefetcher wants it.
inline block::fetch fetch_of(std::span<const run> runs, const predicted_block& p) {
  block::fetch f;
  f.id = runs[p.run].blocks.id(p.block);
  f.stream = runs[p.run].stream;
  f.index = runs[p.run].blocks_before + p.block;
  return f;
}

}  // namespace flowrun::runs
