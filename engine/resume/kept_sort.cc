#include "engine/resume/kept_sort.h"

#include <utility>

#include "engine/resume/manifest.h"

namespace flowrun::resume {

void kept_sort::note_position(uint64_t rows_taken, pipeline_position position, std::optional<record::row_tally> tally) {
  mutex_lock lock(mutex_);
  if (!places_.empty() && places_.back().rows_taken == rows_taken) places_.pop_back();
  places_.push_back({rows_taken, std::move(position), tally});
}

void kept_sort::written(uint64_t rows_taken, std::vector<runs::run> blocks) {
  sort_progress now;
  now.rows_taken = now.rows_to_skip = rows_taken;
  {
    mutex_lock lock(mutex_);
    while (places_.size() > 1 && places_[1].rows_taken <= rows_taken) places_.pop_front();
    if (!places_.empty() && places_.front().rows_taken <= rows_taken) {
      now.position = places_.front().position;
      now.rows_to_skip = rows_taken - places_.front().rows_taken;
      now.before_position = places_.front().tally;
    }
    for (const runs::run& r : blocks)
      for (const runs::run_block& b : r.blocks) blocks_[r.stream].push_back(b.id);
  }
  now.runs = std::move(blocks);
  owner_.save_written(*this, now);
}

void kept_sort::merged(const std::vector<uint64_t>& streams, const runs::run& made) {
  std::vector<block::block_id> free;
  {
    mutex_lock lock(mutex_);
    for (const uint64_t stream : streams) {
      const auto found = blocks_.find(stream);
      if (found == blocks_.end()) continue;
      free.insert(free.end(), found->second.begin(), found->second.end());
      blocks_.erase(found);
    }
    for (const runs::run_block& b : made.blocks) blocks_[made.stream].push_back(b.id);
  }
  owner_.save_merged(*this, streams, made, std::move(free));
}

void kept_sort::complete(const std::optional<record::row_tally>& all) {
  if (is_complete()) return;
  complete_ = true;
  owner_.save_complete(*this, all);
}

void kept_sort::release() {
  std::vector<block::block_id> blocks;
  {
    mutex_lock lock(mutex_);
    for (const auto& [stream, of_run] : blocks_) blocks.insert(blocks.end(), of_run.begin(), of_run.end());
    blocks_.clear();
  }
  owner_.save_released(*this, std::move(blocks));
}

}  // namespace flowrun::resume
