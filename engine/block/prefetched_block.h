// A block to read, and the block in memory that comes of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "engine/block/block_format.h"
#include "engine/block/block_id.h"

namespace flowrun::block {

// A block to read, and what it must turn out to be (block_format.h).
struct fetch {
  block_id id;
  uint64_t stream = 0;
  uint64_t index = 0;
  uint64_t generation = 0;
};

// A block in memory. Gives its buffer back to its reader when the last owner lets go, on any thread, also after the
// reader is gone. Movable.
class prefetched_block {
 public:
  prefetched_block() = default;
  // `lease` keeps `data` alive, header.block_bytes of it.
  prefetched_block(std::shared_ptr<const void> lease, std::byte* data, const block_header& header)
      : lease_(std::move(lease)), data_(data), header_(header) {}

  explicit operator bool() const { return lease_ != nullptr; }
  // The whole block, header included; num_bytes of it. The payload may be changed in place by a single owner.
  std::byte* data() const { return data_; }
  uint32_t num_bytes() const { return header_.block_bytes; }
  std::byte* payload() const { return payload_of(data_); }
  uint32_t payload_bytes() const { return num_bytes() - static_cast<uint32_t>(block_header_bytes); }
  const block_header& header() const { return header_; }
  // Keeps the buffer alive, for batches and rows that refer to its bytes.
  const std::shared_ptr<const void>& owner() const { return lease_; }
  void reset() { *this = {}; }

  prefetched_block(prefetched_block&& other) noexcept = default;
  prefetched_block& operator=(prefetched_block&& other) noexcept = default;

 private:
  std::shared_ptr<const void> lease_;
  std::byte* data_ = nullptr;
  block_header header_;
};

}  // namespace flowrun::block
