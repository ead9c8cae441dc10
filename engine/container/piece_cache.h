// Pieces of stored rows that were read from scratch and may be wanted again: what seeks touch round after round stays
// in memory, up to a share.
//
// This is the hot pool of a breadth-first search on a graph of large diameter (Mehlhorn and Meyer, "External-memory
// breadth-first search with sublinear I/O"). A block of adjacency lists is wanted by the levels that pass through it,
// one after another, and then never again. What to drop is found by the clock algorithm (Corbató, 1968): a hand goes
// round, and what was not used since it came by last goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/base/mutex.h"
#include "engine/record/batch.h"

namespace flowrun::container {

// Thread-safe.
class piece_cache {
 public:
  explicit piece_cache(uint64_t memory_bytes) : memory_bytes_(memory_bytes) {}

  // The rows of a piece, or an empty batch.
  record::batch find(size_t piece);
  // `num_bytes`: what the memory that `rows` own takes. Of more than the share nothing stays. Rows that are still in
  // use elsewhere live on when they are dropped here.
  void put(size_t piece, const record::batch& rows, uint64_t num_bytes);

  uint64_t held_bytes() const;

 private:
  struct entry {
    size_t piece = 0;
    record::batch rows;
    uint64_t num_bytes = 0;  // 0: nothing is here
    bool used = false;       // since the hand came by
  };
  void drop_one() FLOWRUN_REQUIRES(mutex_);

  const uint64_t memory_bytes_;
  mutable mutex mutex_;
  uint64_t held_ FLOWRUN_GUARDED_BY(mutex_) = 0;
  std::vector<entry> entries_ FLOWRUN_GUARDED_BY(mutex_);
  std::vector<size_t> free_ FLOWRUN_GUARDED_BY(mutex_);                   // places in it
  std::unordered_map<size_t, size_t> places_ FLOWRUN_GUARDED_BY(mutex_);  // by piece
  size_t hand_ FLOWRUN_GUARDED_BY(mutex_) = 0;
};

}  // namespace flowrun::container
