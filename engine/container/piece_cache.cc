#include "engine/container/piece_cache.h"

#include <utility>

#include "engine/base/mutex.h"

namespace flowrun::container {

namespace {

constexpr uint64_t place_bytes = 64;  // a node of the table, its slot, and what the rows' owner takes beside them

}  // namespace

record::batch piece_cache::find(size_t piece) {
  mutex_lock lock(mutex_);
  const auto found = places_.find(piece);
  if (found == places_.end()) return {};
  entry& e = entries_[found->second];
  e.used = true;
  return e.rows;
}

void piece_cache::put(size_t piece, const record::batch& rows, uint64_t num_bytes) {
  mutex_lock lock(mutex_);
  if (num_bytes == 0) return;
  num_bytes += sizeof(entry) + sizeof(size_t) + place_bytes;
  if (num_bytes > memory_bytes_ || places_.contains(piece)) return;
  while (held_ + num_bytes > memory_bytes_) drop_one();
  // In a place that the hand has just passed, so that it has a whole round to be used.
  if (free_.empty()) {
    free_.push_back(entries_.size());
    entries_.emplace_back();
  }
  const size_t place = free_.back();
  free_.pop_back();
  entries_[place] = {piece, rows, num_bytes, false};
  places_[piece] = place;
  held_ += num_bytes;
}

void piece_cache::drop_one() {
  for (;;) {
    if (hand_ >= entries_.size()) hand_ = 0;
    const size_t place = hand_++;
    entry& e = entries_[place];
    if (e.num_bytes == 0 || std::exchange(e.used, false)) continue;
    held_ -= e.num_bytes;
    places_.erase(e.piece);
    e = {};
    free_.push_back(place);
    return;
  }
}

uint64_t piece_cache::held_bytes() const {
  mutex_lock lock(mutex_);
  return held_;
}

}  // namespace flowrun::container
