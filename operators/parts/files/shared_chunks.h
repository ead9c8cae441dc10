// Lends out the buffers that a reader fills, to pieces of what it has read.
//
// Half of the buffers must come back even if the pipeline keeps what it is given. So beyond that half there is none for
// whoever asks, who copies then, and the reader never runs out of buffers.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>

#include "engine/io/file_reader.h"

namespace flowrun::operators {

class shared_chunks {
 public:
  // The reader may have `max_held` chunks out.
  explicit shared_chunks(unsigned max_held)
      : most_(std::max(max_held / 2, 1U)), held_(std::make_shared<std::atomic<unsigned>>(0)) {}

  // An owner of the chunk for all pieces of it; null: they have to be copied. One thread at a time asks.
  std::shared_ptr<const void> lend(const io::chunk& chunk) const {
    if (held_->load(std::memory_order_relaxed) >= most_) return nullptr;
    held_->fetch_add(1, std::memory_order_relaxed);
    return {chunk.data, [owner = chunk.owner, held = held_](const void*) mutable {
              owner.reset();
              held->fetch_sub(1, std::memory_order_relaxed);
            }};
  }

 private:
  const unsigned most_;
  const std::shared_ptr<std::atomic<unsigned>> held_;
};

}  // namespace flowrun::operators
