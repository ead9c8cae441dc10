// A sort whose runs stay when the process ends: what an earlier process has left of it, and what this one adds.
//
// The creator of the runs tells which rows of its input the blocks on the disks hold. The stage that feeds it tells
// where the source of these rows was (note_position). Together they say where a later process goes on: the source
// begins at a position, and the first rows of what comes are left out.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/mutex.h"
#include "engine/record/row_tally.h"
#include "engine/resume/source_position.h"
#include "engine/runs/sorted_runs.h"

namespace flowrun::resume {

class manifest;

// What is known to be on the disks.
struct sort_progress {
  uint64_t rows_taken = 0;
  std::vector<runs::run> runs;
  pipeline_position position;
  uint64_t rows_to_skip = 0;  // of what the source gives from there on
  // Where rows are tallied (record/row_tally.h): those of the sort's input before the position, and all of them, once
  // it is complete.
  std::optional<record::row_tally> before_position;
  std::optional<record::row_tally> all;
  bool is_complete = false;
  bool is_released = false;
};

class kept_sort {
 public:
  kept_sort(manifest& owner, std::string node) : owner_(owner), node_(std::move(node)) {}

  // What an earlier process left. Its blocks are kept by the block manager until release().
  const sort_progress& before() const { return before_; }
  const std::string& node() const { return node_; }

  // The rows from row `rows_taken` of the sort's input on came from there, and `tally` is of those before. Ascending.
  void note_position(uint64_t rows_taken, pipeline_position position, std::optional<record::row_tally> tally);
  // As sort_resources::written, counted from the first row of the sort's input. On any thread.
  void written(uint64_t rows_taken, std::vector<runs::run> blocks);
  // As sort_resources::merged. From here on the new run is there instead.
  void merged(const std::vector<uint64_t>& streams, const runs::run& made);
  // No row is anywhere else than in the runs.
  void complete(const std::optional<record::row_tally>& all);
  bool is_complete() const { return complete_.load() || before_.is_complete; }
  // The runs are needed no more, by no process.
  void release();

 private:
  friend class manifest;
  struct place {
    uint64_t rows_taken;
    pipeline_position position;
    std::optional<record::row_tally> tally;
  };

  manifest& owner_;
  const std::string node_;
  sort_progress before_;
  std::atomic<bool> complete_{false};
  mutex mutex_;
  std::deque<place> places_ FLOWRUN_GUARDED_BY(mutex_);
  std::map<uint64_t, std::vector<block::block_id>> blocks_ FLOWRUN_GUARDED_BY(mutex_);  // that are kept, by stream
};

}  // namespace flowrun::resume
