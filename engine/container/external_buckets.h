// Distribution: rows that come with a bucket's number, kept by bucket in the order they came, in one pass over them.
//
//   push ─▶ [page 0] [page 1] … [page k-1] ─▶ full ─▶ stays in memory, or a block is written behind
//   finish ─▶ bucket 0, bucket 1, …, bucket k-1 as stored_rows, read ahead in that order
//
// The pass of an out-of-core radix sort (ViC*, section 4.3): one buffer for each bucket, full ones go to disk,
// stable. k is bounded by the memory for the pages: they take three eighths of it, at least 4 KiB each. Full pages stay
// in half of it. Partly filled ones are cut to what they hold at the end, so that a few rows in many buckets take
// little.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/container/stored_rows.h"

namespace flowrun::container {

// One thread at a time.
class external_buckets {
 public:
  struct settings {
    uint32_t num_buckets = 1;
    uint64_t memory_bytes = 0;  // pages, and rows that stay
    uint64_t block_bytes = 0;   // on scratch, at most, a multiple of 4096; 0: chosen
  };
  external_buckets(const record::row_type& type, block::block_manager& blocks, record::batch_pool& pool, settings how);
  // Waits for the transfers in flight.
  ~external_buckets();
  external_buckets(const external_buckets&) = delete;
  external_buckets& operator=(const external_buckets&) = delete;

  // Pages are as long as the blocks; a row that is longer has one of its own.
  static uint32_t block_length(const settings& how);
  // For rows of this width, without their strings.
  static uint64_t least_memory(uint32_t num_buckets, uint64_t row_bytes);
  // At most so much goes to scratch of `num_bytes` of rows. Pages that aren't full at the end stay, but for those of
  // rows that are longer than a block.
  static uint64_t written_pages(uint64_t num_bytes, uint64_t row_bytes, const settings& how);

  // The row `row` goes to the end of `bucket` < num_buckets. ready: it was taken. blocked: it was not, and may come
  // again after `w` was woken. Errors as external_vector::push.
  outcome push(uint32_t bucket, const std::byte* row, const std::byte* heap, waker& w);
  // Until done; then `rows` has them all.
  outcome finish(waker& w);
  std::shared_ptr<const stored_rows> rows() const;

  // Bytes of blocks that went to scratch so far.
  uint64_t spilled_bytes() const;

 private:
  struct core;
  std::unique_ptr<core> core_;
};

}  // namespace flowrun::container
