// Drives a whole external sort, as the sort operator does, and knows what must come out.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "engine/sort/run_creator.h"
#include "engine/sort/run_merger.h"
#include "tests/support/random_rows.h"
#include "tests/support/scratch_rig.h"
#include "tests/support/task_queue.h"

namespace flowrun::sort {

using record::batch;
using record::random_rows;
using record::type_of;

// Where and how a sort works.
struct sort_place {
  uint64_t memory_bytes = sizes::least_sort_memory(4096);
  uint64_t kept_bytes = 0;
  uint32_t block_bytes = 4096;
  unsigned num_threads = 0;  // of the poster and of refine(); 0: all on the test's thread
  bool on_disk = false;      // in temporary directories with the backend of threads; else in memory
  unsigned num_disks = 2;
  uint64_t scratch_limit = 0;  // of each disk, in bytes; 0: none
  size_t batch_bytes = 8 * 1024;
  runs::block_coding coding;
  unsigned runs_per_half = 1;
  bool splits_halves = false;
};

// The scratch, the pool and the threads of one sort.
class sort_rig {
 public:
  // `backend`: used instead of the place's, unless it is null.
  explicit sort_rig(const sort_place& place, std::unique_ptr<io::backend> backend = nullptr);

  sort_resources resources();
  // Gives both halves of a sort so much memory.
  void divide(sort_resources& r, uint64_t memory_bytes, uint32_t block_bytes) const;
  const sort_place& place() const { return place_; }
  block::block_manager& blocks() { return scratch_.blocks(); }
  record::batch_pool& pool() { return scratch_.pool(); }
  task_queue& queue() { return tasks_; }

 private:
  const sort_place place_;
  task_queue tasks_;
  scratch_rig scratch_;
};

// Feeds all batches and finishes.
runs::sorted_runs create_runs(sort_rig& rig, run_creator& creator, const std::vector<batch>& input);

struct sort_result {
  std::vector<std::string> rows;
  size_t num_runs = 0;
  bool in_memory = false;
  uint64_t fan_in = 0;
  uint64_t merge_passes = 0;
  uint64_t scratch_bytes = 0;  // after run formation
  uint64_t peak_scratch_bytes = 0;
};

// Everything a merger delivers, refined on several threads if the place has some.
std::vector<batch> merge_runs(sort_rig& rig, const sort_settings& settings, run_merger& merger);

sort_result sort_rows(const sort_settings& settings, const sort_place& place, const std::vector<batch>& input);

// Sorts, and compares row by row with std::stable_sort.
sort_result expect_sorted(const sort_settings& settings, const sort_place& place, const std::vector<batch>& input);

// The runs of rows with one thread and with several, which sort a half in pieces: the same blocks. Returns how many.
size_t expect_same_runs_in_pieces(const sort_settings& settings, const std::vector<batch>& input);

sort_settings sort_by(const record::row_type& type, record::key key);

// A place where what fits half the memory stays there.
sort_place keeping_place(uint64_t memory_bytes = sizes::least_sort_memory(4096));

// One part per column in ascending order: "by these columns".
record::key columns(std::initializer_list<size_t> list);

// Rows of one u64 each.
std::vector<batch> numbers(record::batch_pool& pool, const std::vector<uint64_t>& values);

}  // namespace flowrun::sort
