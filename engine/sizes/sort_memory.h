// How the two halves of a sort divide the memory they are given. Pure.
//
// The planner counts with these sizes and the sort is handed them, so that neither can be wrong about the other: what
// is enough for the planner is enough for the sort. Where rows turn out to need longer blocks, or their first keys much
// memory, the sort asks the same functions again.
//
// The creator has write buffers, one buffer more to fill where blocks are compressed, and two halves of a run buffer.
// The merger has a quarter for slices on their way through the pipeline (each as words and as rows). Three quarters are
// block buffers: one per run, two more being merged, and the rest, at least two, for reading ahead. An intermediate
// merge has one slice at a time in two forms, or the indices of some, and writes with what the others would take.
// Compressed blocks are read into the buffers for reading ahead, and decoded into those of the runs: no more memory,
// and no less fan-in.
#pragma once

#include <cstdint>

#include "engine/base/units.h"
#include "engine/sizes/block_length.h"

namespace flowrun::sizes {

// Each half of a sort works with so many blocks of memory, for rows of any type.
constexpr uint64_t least_sort_memory(uint64_t block_bytes) { return 24 * block_bytes; }
// The shortest blocks that are chosen for a sort; shorter ones only where they are asked for.
constexpr uint64_t shortest_sort_block = 16 * KiB;
// With so many blocks of the longest rows two runs and more are merged, and read ahead.
constexpr uint64_t blocks_of_long_rows = 8;

// What doesn't count of what a half takes: far less than what a job may take beyond its budget.
struct uncounted_bytes {
  // Of blocks, which stay in memory: so that tiny budgets work.
  uint64_t first_keys = 8 * MiB;
  // Write buffers of longer blocks: so that rows which are only a little long have the run buffer that short ones have.
  uint64_t long_buffers = 16 * MiB;
};
// Of each where so many halves work, or wait with their runs, at the same time: more than two share what two have.
constexpr uncounted_bytes uncounted_of(uint64_t halves) {
  constexpr uint64_t two = 2;
  const uncounted_bytes each;
  const uint64_t sharing = halves > two ? halves : two;
  return {each.first_keys * two / sharing, each.long_buffers * two / sharing};
}

struct half_budget {
  uint64_t memory_bytes = 0;
  uint64_t block_bytes = 0;  // a power of two >= 4096
  unsigned num_disks = 1;
  unsigned disk_depth = 8;  // transfers under way per disk
  unsigned threads = 1;
  bool compressed = false;  // the runs
  bool folds = false;       // rows with equal keys become one; two of the rows that are sorted by index are held for it
  uncounted_bytes uncounted = {};
};

struct creator_sizes {
  uint32_t block_bytes = 0;
  unsigned write_buffers = 2;  // blocks of a run on their way to the disks
  uint64_t half_bytes = 0;     // of the run buffer
  // A run has so much of half the run buffer. Where one merge takes all runs anyway, shorter ones are cheaper to make.
  unsigned runs_per_half = 1;
  // Of narrow rows, with unique: the pieces of a half may be runs by themselves, where few rows repeat.
  bool splits_halves = false;
  // Long rows make blocks longer, up to what the merger can read where nothing stays in memory. Rows that need more are
  // refused.
  uint64_t longest_block = 0;
  uint64_t longest_beside_kept = 0;  // the same where as much stays as may
  uint64_t comfortable_block = 0;    // that many rows of average length may make, so that many runs are merged
  uint64_t least_memory = 0;         // with which it works
  uncounted_bytes uncounted = {};
};

struct merger_sizes {
  uint32_t block_bytes = 0;
  uint64_t fan_in = 2;         // runs merged at once
  unsigned lookahead = 2;      // blocks beyond one per run that may wait in memory, merged
  unsigned num_buffers = 0;    // blocks in memory, all together, when fan_in runs are merged
  uint64_t slice_bytes = 0;    // narrow rows: words of one slice
  unsigned write_buffers = 2;  // of an intermediate merge
  bool fits = false;           // at least two runs can be merged: of the longest rows, with a buffer for each
  uint64_t kept_bytes = 0;     // more memory, for long rows, where nothing has stayed there
  uncounted_bytes uncounted = {};
};

// One run for each half; `merge_bytes` is the memory of the other half of the sort, which has `kept_bytes` more where
// nothing stays in memory.
creator_sizes divide_creator(const half_budget& budget, uint64_t merge_bytes, uint64_t kept_bytes = 0);
merger_sizes divide_merger(const half_budget& budget);

// The same creator with blocks as long as such rows ask for, with as many write buffers as an eighth of the memory has
// room for, and two at least. What they take beyond an eighth, or beyond what doesn't count, the halves give up. Blocks
// beyond longest_block can't be merged.
creator_sizes creator_for_rows(const creator_sizes& creator, const row_lengths& rows, const half_budget& budget);

// The least memory with which blocks as long as budget.block_bytes can be merged, and the longest blocks that can be
// merged with budget.memory_bytes. Compressed ones are read into two more, and rows that are held count as blocks. One
// block doesn't count, as far as longer write buffers don't.
uint64_t least_merge_memory(const half_budget& budget);
uint64_t longest_merged_block(const half_budget& budget);
// What run creation has for rows where a stretch of half the run buffer would have no room for one: the memory beside
// two write buffers, in one stretch. Two rows of the longest blocks and more.
uint64_t longest_rows_memory(const half_budget& budget);
// The least memory with which the planner lets each half work with rows of this length, however short the blocks are
// chosen.
constexpr uint64_t least_memory_for_row(uint64_t row_bytes) {
  return blocks_of_long_rows * block_for_row(row_bytes, shortest_sort_block);
}

}  // namespace flowrun::sizes
