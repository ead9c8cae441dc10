#include "engine/resume/kept_sort.h"

#include <utility>

#include "engine/resume/manifest.h"

namespace flowrun::resume {

void kept_sort::note_position(uint64_t rows_taken, source_position position) {
  mutex_lock lock(mutex_);
  if (!places_.empty() && places_.back().rows_taken == rows_taken) places_.pop_back();
  places_.push_back({rows_taken, std::move(position)});
}

void kept_sort::written(uint64_t rows_taken, std::vector<runs::run> blocks) {
  source_position position;
  uint64_t rows_to_skip = rows_taken;
  {
    mutex_lock lock(mutex_);
    while (places_.size() > 1 && places_[1].rows_taken <= rows_taken) places_.pop_front();
    if (!places_.empty() && places_.front().rows_taken <= rows_taken) {
      position = places_.front().position;
      rows_to_skip = rows_taken - places_.front().rows_taken;
    }
    for (const runs::run& r : blocks)
      for (const runs::run_block& b : r.blocks) blocks_.push_back(b.id);
  }
  owner_.save_written(*this, rows_taken, blocks, position, rows_to_skip);
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
    blocks.swap(blocks_);
  }
  owner_.save_released(*this, std::move(blocks));
}

}  // namespace flowrun::resume
