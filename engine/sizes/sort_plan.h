// All sizes of one external sort, decided once from what is known before it runs (Asynchronous sorting, section 2).
// Pure.
//
// Blocks are as large as a 64th of the creator's memory and 1 MiB allow, so that disks stream. They are smaller, down
// to 64 KiB, where that saves a merge pass or where the merge would else have fewer than 16 buffers per disk.
// (Asynchronous sorting, section 5: it is not a good idea to switch to two merge passes for the sake of large blocks.)
// And they are always so small that the merger can work with them. Half of the creator's memory, but for its write
// buffers, fills while the other half is sorted and written, so runs have half of it. The last run stays in memory
// where it fits what may be kept.
//
// Long rows ask for longer blocks (block_length.h). How long strings are the sort sees only when it has them. So both
// halves are handed what the rows without them ask for, and figures are made with the strings that are expected.
//
// Long runs (long_run_creator.cc): what Q and Q' hold, S, is about 15/16 of both halves. Random input makes a first run
// of (e - 1) S and others of 2 S. This is what is predicted, to within one run; sorted input makes one run, input that
// only descends makes runs of S.
//
// Several runs of a half: where one merge can take all runs, they are made shorter. Run creation is cheaper then (less
// to merge in memory), and for narrow rows merging costs the same at any fan-in (engine/sort/slice_merger.h). A quarter
// of the fan-in is left for estimates that are too low. Where rows that repeat are left out, run creation decides:
// longer runs leave out more.
//
// Example: 4 GiB of u64 in 512 MiB: blocks of 1 MiB, halves of 248 MiB, runs of 31 MiB, 133 of them, one merge pass.
#pragma once

#include <cstdint>

#include "engine/sizes/sort_memory.h"

namespace flowrun::sizes {

struct sort_request {
  bool known = false;  // of rows and num_bytes; otherwise 64 runs are assumed
  uint64_t rows = 0;
  uint64_t num_bytes = 0;     // rows and their strings
  uint32_t row_bytes = 8;     // fixed part of a row
  bool indexed = false;       // sorted by an index, not as words
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
  unsigned threads = 1;
  uint64_t halves = 2;  // of sorts that work, or wait with their runs, at the same time
};

struct sort_plan {
  creator_sizes creator;
  merger_sizes merger;
  merger_sizes expected;   // what becomes of the merger when long strings make blocks longer
  uint64_t run_bytes = 0;  // rows of one run, on average
  uint64_t runs = 0;       // on scratch; 0: all stays in memory, or the size is unknown
  uint64_t fan_in = 0;     // of the last merge
  uint64_t passes = 0;
  uint64_t kept_bytes = 0;     // rows that are never written
  uint64_t written_bytes = 0;  // an upper bound, before compression; 0 when unknown
  uint64_t read_bytes = 0;
};

sort_plan plan_sort(const sort_request& request);

}  // namespace flowrun::sizes
