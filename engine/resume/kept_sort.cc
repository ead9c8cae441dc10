#include "engine/resume/kept_sort.h"

#include <utility>

#include "engine/resume/manifest.h"

namespace flowrun::resume {

void kept_sort::note_position(uint64_t rows_taken, pipeline_position position) {
  mutex_lock lock(mutex_);
  if (!places_.empty() && places_.back().rows_taken == rows_taken) places_.pop_back();
  places_.push_back({rows_taken, std::move(position)});
}

void kept_sort::written(uint64_t rows_taken, std::vector<runs::run> blocks) {
  pipeline_position position;
  uint64_t rows_to_skip = rows_taken;
  {
    mutex_lock lock(mutex_);
    while (places_.size() > 1 && places_[1].rows_taken <= rows_taken) places_.pop_front();
    if (!places_.empty() && places_.front().rows_taken <= rows_taken) {
      position = places_.front().position;
      rows_to_skip = rows_taken - places_.front().rows_taken;
    }
    for (const runs::run& r : blocks)
      for (const runs::run_block& b : r.blocks) blocks_[r.stream].push_back(b.id);
  }
  owner_.save_written(*this, rows_taken, blocks, position, rows_to_skip);
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

void kept_sort::complete() {
  if (is_complete()) return;
  complete_ = true;
  owner_.save_complete(*this);
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
