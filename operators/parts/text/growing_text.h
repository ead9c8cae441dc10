// Text in the making, in a buffer of a pool that grows with it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "engine/record/batch_pool.h"
#include "operators/parts/files/text_block.h"

namespace flowrun::operators {

// Who writes keeps the place of the next byte, which reserve() moves.
class growing_text {
 public:
  explicit growing_text(record::batch_pool& pool) : pool_(pool) {}

  // Room for num_bytes more behind `to`, which is null at first.
  void reserve(char*& to, size_t num_bytes) {
    const size_t used = size(to);
    if (capacity_ - used >= num_bytes) return;
    capacity_ = std::max(used + num_bytes, 2 * capacity_);
    std::shared_ptr<std::byte[]> larger = pool_.take(capacity_);
    if (used > 0) std::memcpy(larger.get(), owner_.get(), used);
    owner_ = std::move(larger);
    to = begin() + used;
  }
  size_t size(const char* to) const { return to == nullptr ? 0 : static_cast<size_t>(to - begin()); }
  text_block take(const char* to, size_t num_rows) {
    const size_t num_bytes = size(to);
    return {std::move(owner_), num_bytes, num_rows};
  }

 private:
  char* begin() const { return reinterpret_cast<char*>(owner_.get()); }

  record::batch_pool& pool_;
  std::shared_ptr<std::byte[]> owner_;
  size_t capacity_ = 0;
};

}  // namespace flowrun::operators
