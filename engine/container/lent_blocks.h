// Blocks as batches: the rows of a block that was read, in the reader's own buffer as long as the consumer doesn't hold
// on to too many of them, and otherwise in a copy, so that the reader never runs out of buffers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "engine/block/prefetched_block.h"
#include "engine/record/batch.h"

namespace flowrun::container {

class lent_blocks {
 public:
  // How many buffers the consumer may hold.
  void allow(size_t most) { most_ = most; }

  // `take(num_bytes)` gives memory for a copy, as a shared_ptr<std::byte[]>. `copies`: a copy anyway.
  template <class Take>
  record::batch rows_of(const block::prefetched_block& block, uint32_t row_bytes, bool has_strings, Take take,
                        bool copies = false) {
    record::batch b;
    b.num_rows = block.header().num_rows;
    b.row_bytes = row_bytes;
    b.heap_bytes = has_strings ? block.payload_bytes() : 0;
    std::erase_if(lent_, [](const std::weak_ptr<const void>& one) { return one.expired(); });
    if (lent_.size() < most_ && !copies) {
      lent_.push_back(block.owner());
      b.rows = block.payload();
      b.owner = block.owner();
    } else {
      const size_t num_bytes = std::max(b.num_rows * b.row_bytes, b.heap_bytes);
      std::shared_ptr<std::byte[]> copy = take(num_bytes);
      std::memcpy(copy.get(), block.payload(), num_bytes);
      b.rows = copy.get();
      b.owner = std::move(copy);
    }
    b.heap = b.heap_bytes > 0 ? b.rows : nullptr;
    return b;
  }

 private:
  size_t most_ = 0;
  std::vector<std::weak_ptr<const void>> lent_;  // that the consumer may still hold
};

}  // namespace flowrun::container
