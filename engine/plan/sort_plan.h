// The shape of one external sort, decided from sizes alone (papers/000, section 2). Pure.
//
// Block size and write buffers are decided here and handed to the sort. Blocks are as large as a 64th of the memory and
// 1 MiB allow, so that disks stream; smaller, down to 64 KiB, where that saves a merge pass (papers/000, section 5: it
// is not a good idea to switch to two merge passes for the sake of large blocks) or where the merge would else have
// fewer than 16 buffers per disk. The other formulas are those of engine/sort (run_creator.cc, merger_memory.cc), which
// this layer may not include; tests/runner/large_sort_test.py holds both against each other. Half of the creator's
// memory, but for its write buffers, fills while the other half is sorted and written, so runs have half of it; rows
// wider than 16 bytes are sorted by an index of 16 bytes each, narrower ones as words of 8 or 16 bytes. The last run
// stays in memory where it fits what may be kept. Compressed blocks are filled in one more buffer; the merge decodes
// them in the memory it has anyway.
//
// Long runs (long_run_creator.cc): what Q and Q' hold, S, is about 15/16 of both halves. Random input makes a first run
// of (e - 1) S and others of 2 S. This is what is predicted, to within one run; sorted input makes one run, input that
// only descends makes runs of S.
//
// Three quarters of the merger's memory are block buffers: one per run, two more, and some for reading ahead.
//
// Several runs of a half: where one merge can take all runs, they are made shorter. Run creation is cheaper then (less
// to merge in memory), and for narrow rows merging costs the same at any fan-in (engine/sort/slice_merger.h). A quarter
// of the fan-in is left for estimates that are too low. Where rows that repeat are left out, run creation decides:
// longer runs leave out more.
//
// Example: 4 GiB of u64 in 512 MiB: blocks of 1 MiB, halves of 248 MiB, runs of 31 MiB, 133 of them, one merge pass.
#pragma once

#include <cstdint>

namespace flowrun::plan {

struct sort_request {
  bool known = false;  // of rows and num_bytes; otherwise 64 runs are assumed
  uint64_t rows = 0;
  uint64_t num_bytes = 0;     // rows and their strings
  uint32_t row_bytes = 8;     // fixed part of a row
  uint64_t create_bytes = 0;  // the creator's share of memory
  uint64_t merge_bytes = 0;   // the merger's
  uint64_t kept_bytes = 0;    // memory of the creator that may stay, with rows, until the merge
  uint64_t block_bytes = 0;   // 0: chosen
  uint64_t limit_rows = 0;    // at most so many rows are wanted; 0: all
  bool dedups = false;        // rows of equal keys become one
  bool unique = false;        // of them all but one are left out, and whole rows are sorted as numbers
  bool long_runs = false;
  bool compressed = false;  // the runs; how much shorter they get isn't known before
  unsigned num_disks = 1;
  unsigned disk_depth = 8;  // transfers under way per disk
};

struct sort_plan {
  uint64_t block_bytes = 0;
  uint64_t write_buffers = 0;  // blocks of a run on their way to the disks
  uint64_t read_buffers = 0;   // blocks of a merge in memory: one per run, the others read ahead
  uint64_t run_bytes = 0;      // rows of one run, on average
  uint64_t runs_per_half = 1;  // of the run buffer
  bool splits_halves = false;  // into so many, but only where few rows of a half repeat
  uint64_t fan_in_limit = 0;   // runs that one merge can read
  uint64_t runs = 0;           // on scratch; 0: all stays in memory, or the size is unknown
  uint64_t fan_in = 0;         // of the last merge
  uint64_t passes = 0;
  uint64_t kept_bytes = 0;     // rows that are never written
  uint64_t written_bytes = 0;  // an upper bound, before compression; 0 when unknown
  uint64_t read_bytes = 0;
};

sort_plan plan_sort(const sort_request& request);

// What rows and their index take in memory while they are sorted.
uint64_t bytes_in_memory(uint64_t num_bytes, uint64_t rows, uint32_t row_bytes);

}  // namespace flowrun::plan
