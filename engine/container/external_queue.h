// A first-in-first-out queue of batches that goes to scratch beyond its share of memory (STXXL, section 5.3).
//
//   push ─▶ [memory] ─▶ front            as long as everything fits
//   push ─▶ [segment being written] ─▶ [written segments …] ─▶ [segment being read] ─▶ front
//
// A segment is a run of blocks. The reader takes what is in memory first, then segment after segment; when it has
// caught up with the segment being written, that one is closed and read. Written behind, read ahead: the disks work
// beside both ends. Rows come out in the order they went in, in other batches.
//
// Both ends may wait for the writer at the same time, so the writer and the reader wake both: one of these wakes is
// spurious. A consumer that keeps the batches it got (a queue behind it, a group of a join) must not starve the reader
// of its buffers: once two of them are out, it gets copies.
//
// Thread-safe between one producer and one consumer.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/base/waker.h"
#include "engine/block/block_manager.h"
#include "engine/record/batch.h"
#include "engine/record/row_type.h"

namespace flowrun::container {

class external_queue {
 public:
  // Buffers and rows together take about `memory_bytes`; with 0, or less than a few blocks, a few blocks of 4 KiB and
  // no rows in memory. Of rows, no more than `kept_bytes` stay in memory. The block manager outlives the queue.
  external_queue(const record::row_type& type, block::block_manager& blocks, uint64_t memory_bytes,
                 uint64_t kept_bytes = UINT64_MAX);
  // Waits for the transfers in flight; frees what was not read.
  ~external_queue();
  external_queue(const external_queue&) = delete;
  external_queue& operator=(const external_queue&) = delete;

  // Producer. ready: `b` was taken. blocked: the rest of it, left in `b`, must come again after `w` was woken. Throws
  // error(resources) when scratch is full, error(io) when a disk fails, error(bad_data) for a row too long for a block
  // of 2 GiB. What either end threw, both ends throw from then on.
  outcome push(record::batch& b, waker& w);
  // Producer: that was all.
  void close();
  // Producer, after close(), for a reader that comes much later: writes what is in the buffers and gives them back, so
  // that nothing is held but the rows that stay in memory. Until done; blocked: `w` will be woken. Throws as push().
  outcome settle(waker& w);

  // Consumer. ready: `front` is the next batch, valid until pop(). blocked: `w` will be woken. done: closed and empty.
  outcome front(const record::batch*& out, waker& w);
  void pop();

  // Once this returns, no waker that was left here is woken any more; for when the ends go before the queue.
  void forget_wakers();

  // Held now by buffers for writing, and by rows that stay in memory.
  uint64_t memory_bytes() const;
  // Bytes that went to scratch so far.
  uint64_t spilled_bytes() const;

 private:
  struct core;
  std::unique_ptr<core> core_;
};

}  // namespace flowrun::container
