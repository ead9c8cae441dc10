// Where a scratch block lies: the disk, the offset in that disk's scratch file, and its length (STXXL's BID,
// STXXL, section 4).
#pragma once

#include <cstdint>

namespace flowrun::block {

// A plain value. num_bytes == 0 means "no block"; freeing it does nothing.
struct block_id {
  uint32_t disk = 0;
  uint32_t num_bytes = 0;
  uint64_t offset = 0;
  bool operator==(const block_id&) const = default;
};

}  // namespace flowrun::block
