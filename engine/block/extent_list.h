// The free space of one scratch file: disjoint extents by offset, neighbours joined.
//
// First fit from the lowest offset, so that blocks of several lengths share the space and the file stays short.
// Invariants: no two extents overlap or touch. Cost: O(log n) to give back; to take, O(1) when all blocks have one
// length, else O(n) of the extents that are too short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace flowrun::block {

class extent_list {
 public:
  // The offset of `num_bytes` > 0 now taken, or nullopt when no extent is long enough.
  std::optional<uint64_t> take(uint64_t num_bytes);
  // The same for 1 to `most_blocks` neighbouring blocks: as many as the first extent with room for one has; their
  // number too.
  std::optional<std::pair<uint64_t, unsigned>> take(uint64_t num_bytes, unsigned most_blocks);
  // Takes [offset, offset + num_bytes) itself; false when not all of it is free.
  bool take_at(uint64_t offset, uint64_t num_bytes);
  // Adds [offset, offset + num_bytes). Throws error(internal) when part of it is free already (freed twice).
  void give(uint64_t offset, uint64_t num_bytes);

  uint64_t free_bytes() const { return free_bytes_; }
  size_t num_extents() const { return extents_.size(); }

 private:
  std::map<uint64_t, uint64_t> extents_;  // offset -> length
  uint64_t free_bytes_ = 0;
};

}  // namespace flowrun::block
