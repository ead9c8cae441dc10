// Rows that are appended once and then read any number of times, forward or backward, by several readers at once; in
// memory while they are few, on scratch beyond their share (STXXL, section 5.2).
//
//   push ─▶ [memory] [memory] … ─▶ (its share is used up) ─▶ [block being filled] ═▶ disks      written behind
//   finish
//   read ─▶ reader, reader, …                                                     ◀═ disks      read ahead
//
// It holds what a loop carries, a table that is looked up, or the rows of a stream that is reversed. Rows that fit cost
// a copy and no more: no thread, no block buffer, a few microseconds for a vector of a few rows. Rows are copied, so
// that they take no more than their own bytes: a batch that they were cut from is not kept alive.
//
// With an index the rows must come sorted by it, and readers can seek: only the blocks that are asked for are read.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/container/stored_rows.h"

namespace flowrun::container {

// Filled by one thread at a time; once finished, reading is thread-safe. Its rows live as long as it or one of its
// readers; the block manager and the pool outlive them.
class external_vector {
 public:
  using reader = stored_reader;
  using direction = container::direction;

  struct settings {
    uint64_t memory_bytes = 0;  // rows up to so many bytes stay in memory; of more, what leaves room for two or more
                                // blocks being written
    uint64_t block_bytes = 0;   // on scratch, at most (sizes::asked_block), a power of two >= 4096; 0: chosen
    record::key index_by = {};  // then readers can seek
    bool keep_read = false;  // for many rounds of seeks: all rows go to scratch once they don't fit, in short blocks,
                             // and the memory holds those that seeks have read last (piece_cache.h)
    // Of an index: its keys. Of longer ones only some are kept, and a seek may read blocks that it did not want. 0:
    // chosen
    uint64_t key_bytes = 0;
    // Rows up to so many bytes are in memory once it is finished; of its buffers none.
    uint64_t kept_bytes = UINT64_MAX;
  };
  external_vector(const record::row_type& type, block::block_manager& blocks, record::batch_pool& pool, settings how);
  // Waits for the transfers in flight.
  ~external_vector();
  external_vector(const external_vector&) = delete;
  external_vector& operator=(const external_vector&) = delete;

  // ready: `b` was taken. blocked: the rest of it, left in `b`, must come again after `w` was woken. Throws
  // error(bad_data) for a row out of the index's order, and for one too long for a block of 2 GiB; error(resources)
  // when scratch is full; error(io) when a disk fails. After an error the vector can only be destroyed.
  outcome push(record::batch& b, waker& w);
  // Until done; then the rows can be read.
  outcome finish(waker& w);

  // A finished vector's.
  uint64_t num_rows() const;
  uint64_t num_bytes() const;  // rows and their strings
  // Held now, by rows, by blocks on their way to the disks, and by where the others lie.
  uint64_t memory_bytes() const;
  // Bytes of blocks that went to scratch so far.
  uint64_t spilled_bytes() const;
  const record::row_type& type() const;

  std::unique_ptr<reader> read(uint64_t memory_bytes, direction way = direction::forward,
                               size_t batch_bytes = usual_batch_bytes) const;

 private:
  struct core;
  std::unique_ptr<core> core_;
};

}  // namespace flowrun::container
