// What is loaded of several runs that are merged slice by slice: of each run the blocks that were wanted, in their
// order, and of what stayed in memory all. Slices are cut off the fronts.
//
//   run 0            │ front, half used │ next block │        active
//   run 1            │                                        its next block has not been wanted yet
//   part in memory   │ front                         │        active
//
// Runs that know their blocks' first rows are read in the order in which the merge wants them (prediction.h). Others
// are read each by itself, with its part of the buffers: then the front of every run must be there before a slice is
// cut, so that a merge of k runs needs k buffers as well, but reads ahead less cleverly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/runs/predicted_reader.h"
#include "engine/runs/sorted_runs.h"

namespace flowrun::runs {

// `Segment`: what is left of a block or of a part in memory. One thread at a time.
template <class Segment>
class run_fronts {
 public:
  // Starts reading the runs' blocks, in the order of their first keys by `less`; they are freed as they are read. At
  // most a block of each run, and memory.lookahead more, wait to be used up. What `less` looks at outlives this.
  run_fronts(block::block_manager& blocks, std::vector<run> runs, first_key_less less, const reading_memory& memory)
      : run_fronts(std::move(runs), memory) {
    readers_.push_back(std::make_unique<predicted_reader>(blocks, runs_, std::move(less), memory));
  }
  // Starts reading each run by itself. Slices may be cut only when load() is done.
  run_fronts(block::block_manager& blocks, std::vector<run> runs, reading_memory memory)
      : run_fronts(std::move(runs), memory) {
    each_by_itself_ = true;
    const size_t num_runs = std::max<size_t>(runs_.size(), 1);
    memory.num_buffers = std::max(1U, memory.num_buffers / static_cast<unsigned>(num_runs));
    memory.beyond_bytes /= num_runs;
    memory.lookahead = 0;
    for (uint32_t r = 0; r < runs_.size(); ++r)
      readers_.push_back(
          std::make_unique<predicted_reader>(blocks, std::span(runs_).subspan(r, 1), first_key_less(), memory));
  }
  // The readers look at the runs.
  run_fronts(const run_fronts&) = delete;
  run_fronts& operator=(const run_fronts&) = delete;

  // Before load(): all of a sequence that comes behind the runs and those that were added before it; not empty.
  void add(Segment part) {
    active_.push_back(next_sequence());
    loaded_.emplace_back().push_back(std::move(part));
    rows_taken_.push_back(0);
  }
  // The number of the sequence that is added next.
  uint32_t next_sequence() const { return static_cast<uint32_t>(loaded_.size()); }

  // Takes in what was read, made a Segment by make(block, run, rows_before), which leaves out the block's first
  // rows_before rows. done: all that may wait is loaded. Throws error(io).
  template <class Make>
  outcome load(Make make, waker& w) {
    if (each_by_itself_) {
      for (uint32_t r = 0; r < runs_.size(); ++r) {
        if (!loaded_[r].empty() || blocks_left_[r] == 0) continue;
        if (const outcome o = load_next(*readers_[r], r, make, w); !o.is_ready()) return o;
      }
      return outcome::done();
    }
    predicted_reader& reader = *readers_.front();
    while (!reader.exhausted() && num_loaded_ < max_loaded_)
      if (const outcome o = load_next(reader, reader.upcoming().run, make, w); !o.is_ready()) return o;
    return outcome::done();
  }

  // Sequences of which something is loaded, ascending.
  size_t num_active() const { return active_.size(); }
  Segment& front(size_t i) { return loaded_[active_[i]].front(); }
  const Segment& front(size_t i) const { return loaded_[active_[i]].front(); }
  // What comes behind the front of an active sequence is loaded, too.
  bool goes_on(size_t i) const { return loaded_[active_[i]].size() > 1; }
  // Nothing comes behind it.
  bool ends(size_t i) const {
    const uint32_t r = active_[i];
    return loaded_[r].size() == 1 && (r >= runs_.size() || blocks_left_[r] == 0);
  }
  // So many rows of it are merged.
  void took(size_t i, size_t num_rows) { rows_taken_[active_[i]] += num_rows; }
  // What was taken of all runs; empty where some rows are in memory only.
  merge_position position() const {
    merge_position out;
    if (loaded_.size() > runs_.size()) return out;
    for (size_t r = 0; r < runs_.size(); ++r) out.push_back({runs_[r].stream, runs_[r].rows_before + rows_taken_[r]});
    return out;
  }
  // The front of an active sequence was used up. Others keep their places, but for those behind it where nothing else
  // of it is loaded.
  void drop_front(size_t i) {
    const uint32_t r = active_[i];
    loaded_[r].pop_front();
    if (r < runs_.size()) --num_loaded_;
    if (loaded_[r].empty()) active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  const std::vector<run>& runs() const { return runs_; }
  // The block that will be loaded next, before whose first row all slices end; null when all were loaded, or when each
  // run is read by itself.
  const predicted_block* upcoming() const {
    return each_by_itself_ || readers_.front()->exhausted() ? nullptr : &readers_.front()->upcoming();
  }
  bool each_by_itself() const { return each_by_itself_; }

 private:
  run_fronts(std::vector<run> runs, const reading_memory& memory)
      : runs_(std::move(runs)),
        loaded_(runs_.size()),
        rows_taken_(runs_.size(), 0),
        blocks_left_(runs_.size()),
        max_loaded_(runs_.size() + memory.lookahead) {
    for (size_t r = 0; r < runs_.size(); ++r) blocks_left_[r] = runs_[r].blocks.size();
  }

  template <class Make>
  outcome load_next(predicted_reader& reader, uint32_t of_run, Make make, waker& w) {
    const predicted_block which{of_run, reader.upcoming().block};
    block::prefetched_block block;
    if (const outcome o = reader.next(block, &w); !o.is_ready()) return o;
    const run& from = runs_[which.run];
    FLOWRUN_CHECK(block.header().stream == from.stream && block.header().index == from.blocks_before + which.block);
    std::deque<Segment>& loaded = loaded_[which.run];
    if (loaded.empty()) active_.insert(std::lower_bound(active_.begin(), active_.end(), which.run), which.run);
    loaded.push_back(make(std::move(block), which.run, which.block == 0 ? from.rows_before_in_block : 0));
    --blocks_left_[which.run];
    ++num_loaded_;
    return outcome::ready();
  }

  const std::vector<run> runs_;
  std::vector<std::deque<Segment>> loaded_;  // by run; behind the runs: what was added
  std::vector<uint64_t> rows_taken_;         // likewise
  std::vector<uint32_t> active_;
  std::vector<size_t> blocks_left_;  // of each run, to be loaded
  size_t num_loaded_ = 0;
  const size_t max_loaded_;
  bool each_by_itself_ = false;
  std::vector<std::unique_ptr<predicted_reader>> readers_;  // one for all runs, or one for each
};

}  // namespace flowrun::runs
