// Recycles the buffers of batches, so that a steady pipeline allocates nothing.
//
//   take ─▶ the buffer of its size that was given back last, in the cache still; else new pages
//   ◀─ given back when the last batch that refers to it dies
//   what was not taken for a while, and what is free beyond a bound, goes back to the system
//
// Buffers of 64 KiB and more are mapped, so that what goes back is gone: malloc would keep it in the arena of the
// thread that had asked for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/base/units.h"

namespace flowrun::record {

// Thread-safe. Buffers may outlive the pool.
class batch_pool {
 public:
  // Free buffers so small in all stay for good.
  static constexpr uint64_t always_kept = 4 * MiB;

  // `most_free`: bytes of free buffers at most.
  explicit batch_pool(uint64_t most_free = 16 * MiB);
  // At least `num_bytes`, uninitialised, aligned to 64 bytes. Sizes are rounded up to powers of two.
  std::shared_ptr<std::byte[]> take(size_t num_bytes);
  // Work of another kind begins: what is free beyond always_kept goes back to the system.
  void trim();
  // Bytes now held by batches and on the free lists, and the most there ever were.
  uint64_t held_bytes() const;
  uint64_t peak_bytes() const;

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace flowrun::record
